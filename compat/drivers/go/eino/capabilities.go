package eino

// ofStructs is what eino has in every version.
var ofStructs = []string{
	"struct_tools",
	"struct_instruction",
	"struct_model_hooks",
	"struct_tool_wrappers",
	"tool_call_middlewares",
	"unknown_tools_handler",
	"parallel_calls",
	"equal_call_ids",
	"concurrent_calls",
	"sequential",
	"return_directly",
	"streaming",
	"streamable_tools",
	"several_handlers",
	"next_twice",
	"run_locals",
	"arguments_text",
	"lone_surrogates",
	"many_extensions",
}

// ofHandlers is what it has where it has handlers.
var ofHandlers = append(append([]string{}, ofStructs...),
	"before_agent",
	"before_model",
	"after_model",
	"wrap_model",
	"wrap_tool",
	"wrap_streamable",
	"edited_config",
	"context",
	"streamed_model_wraps",
)
