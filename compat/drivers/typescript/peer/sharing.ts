/**
 * Packages that a setup has in common with the side: as in production there is one of each,
 * the side's, whatever stands beside the setup. Of two copies neither sees what the other is
 * told, and of two versions of OpenTelemetry's API the newer one does not take the older's.
 */
import { Module, createRequire, register } from "node:module";

/** What observers look at, and by what they are told. */
export const SHARED = ["ai", "langchain", "@langchain/core", "@langchain/langgraph", "@opentelemetry/api"];

type Next = (specifier: string, context: { parentURL?: string }) => unknown;
type Resolve = (specifier: string, context: { parentURL?: string }, next: Next) => unknown;
type Find = (request: string, parent: unknown, isMain: boolean, options?: { paths: string[] }) => string;

const HERE = import.meta.url;

function isShared(name: string): boolean {
  return SHARED.some((each) => name === each || name.startsWith(`${each}/`));
}

/** Has the packages of a driver found first, by `import` and by `require`. */
export function sharePackages(): void {
  register(HERE);
  const loader = Module as unknown as { _resolveFilename: Find };
  const plain = loader._resolveFilename;
  const own = createRequire(HERE).resolve;
  loader._resolveFilename = function (this: unknown, request, ...more) {
    if (!isShared(request)) return plain.call(this, request, ...more);
    loader._resolveFilename = plain; // what the driver asks for is found as ever
    try {
      return own(request);
    } catch {
      return plain.call(this, request, ...more);
    } finally {
      loader._resolveFilename = shared;
    }
  };
  const shared = loader._resolveFilename;
}

/** Finds a module that is imported: what Node asks of this one where it is registered. */
export const resolve: Resolve = async (specifier, context, next) => {
  const { parentURL } = context; // Node keeps in it what the next one is given
  if (!isShared(specifier)) return next(specifier, context);
  try {
    return await next(specifier, { ...context, parentURL: HERE });
  } catch {
    return next(specifier, { ...context, ...(parentURL !== undefined && { parentURL }) }); // the driver has none
  }
};
