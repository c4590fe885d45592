/** JSON schemas as they are compared over versions of the SDK and of zod. */

/** What versions write otherwise for the same schema: its dialect, and the bounds of safe integers. */
const OTHERWISE = new Set(["$schema", "additionalProperties"]);

/** Returns a schema without what only its writer adds. */
export function bare(schema: unknown): object {
  return cleared(schema) as object;
}

function cleared(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(cleared);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([key, each]) => !OTHERWISE.has(key) && !isSafeBound(each));
  return Object.fromEntries(kept.map(([key, each]) => [key, cleared(each)]));
}

function isSafeBound(value: unknown): boolean {
  return value === Number.MAX_SAFE_INTEGER || value === Number.MIN_SAFE_INTEGER;
}
