// Package config reads the Reins configuration.
//
// A configuration is written in TOML. [Load] merges several layers, lowest first: defaults, the system file, the user
// file, the project file, the local project file, the user's own file for the project, environment variables, flags,
// and the managed file. A scalar in a higher layer replaces the value from lower layers; lists are merged. [Settings]
// records where every value comes from.
//
// Files in a project are controlled by whoever wrote the project. They can never set endpoints or the sandbox, or widen
// permissions. Until the user trusts the project, they can only restrict permissions further. All their other settings
// are ignored and reported in [Settings.Notes].
package config

// Config is the configuration. Struct tags define its keys:
//
//	toml, json   the name
//	jsonschema   the description
//	default      the default value
//	env          the environment variable that sets it
//	enum         the allowed values
//	min, max     the bounds for a number
//	format       "duration" for a time such as 20m
//	merge        "replace" if a list replaces the list from lower layers
//	project      which projects may set it: "any", only "trusted" projects, or "stricter" for trusted projects
//	             that make it stricter; without this tag, no project may
//	agent        "ask" if an agent can ask the user to change it; without this tag, it cannot
type Config struct {
	Provider string `toml:"provider" json:"provider,omitempty" env:"REINS_PROVIDER" project:"trusted" enum:"openai anthropic gemini chat local bedrock vertex azure azure-chat chatgpt" jsonschema:"model provider (default: the provider that serves the model, or the first provider with an API key)"`
	Model    string `toml:"model" agent:"ask" json:"model,omitempty" env:"REINS_MODEL" project:"trusted" jsonschema:"model (default: the provider's)"`
	Effort   string `toml:"effort" agent:"ask" json:"effort,omitempty" env:"REINS_EFFORT" project:"trusted" jsonschema:"reasoning effort: low, medium, high, or another level that the model supports"`
	// CacheTTL, ServiceTier and ThinkingDisplay are sent with every request.
	CacheTTL        string `toml:"cache_ttl" json:"cache_ttl,omitempty" env:"REINS_CACHE_TTL" project:"trusted" jsonschema:"lifetime of the prompt cache, such as 1h; the model must support it (default: the provider's)"`
	ServiceTier     string `toml:"service_tier" json:"service_tier,omitempty" env:"REINS_SERVICE_TIER" project:"trusted" jsonschema:"the provider's service tier, such as flex or priority, each with its own prices (default: the provider's)"`
	ThinkingDisplay string `toml:"thinking_display" json:"thinking_display,omitempty" env:"REINS_THINKING_DISPLAY" project:"trusted" enum:"summarized omitted updates" jsonschema:"what the provider shows of the model's thinking: summarized, omitted, or updates (default: summaries, if the provider has them)"`
	BaseURL         string `toml:"base_url" json:"base_url,omitempty" jsonschema:"URL of the provider's API; needs provider in the same file, because the provider's key is sent to it"`

	ResponseTimeout string              `toml:"response_timeout" agent:"ask" json:"response_timeout,omitempty" format:"duration" jsonschema:"time limit for the first byte of an answer, such as 20m (default: 5m, and 15m for local servers and answers that are not streamed)"`
	Providers       map[string]Provider `toml:"providers" json:"providers,omitempty" jsonschema:"additional providers, by name"`

	Run         Run         `toml:"run" json:"run,omitzero" jsonschema:"limits of reins run"`
	Permissions Permissions `toml:"permissions" json:"permissions,omitzero" jsonschema:"what the agent may do without asking"`
	Sandbox     Sandbox     `toml:"sandbox" json:"sandbox,omitzero" jsonschema:"what commands can reach"`
	Environment Environment `toml:"environment" json:"environment,omitzero" jsonschema:"environment variables of commands"`
	Secrets     Secrets     `toml:"secrets" json:"secrets,omitzero" jsonschema:"what is hidden from models and logs"`
	Audit       Audit       `toml:"audit" json:"audit,omitzero" jsonschema:"the log of tool calls"`
	MCP         MCP         `toml:"mcp" json:"mcp,omitzero" jsonschema:"how MCP servers are used"`
	Web         Web         `toml:"web" json:"web,omitzero" jsonschema:"tools that read the web"`
	Coder       Coder       `toml:"coder" json:"coder,omitzero" jsonschema:"reins coder and the coder tool"`
	LSP         LSP         `toml:"lsp" json:"lsp,omitzero" jsonschema:"language servers"`
	Memory      Memory      `toml:"memory" json:"memory,omitzero" jsonschema:"notes that agents keep between sessions"`
	Terminal    Terminal    `toml:"terminal" json:"terminal,omitzero" jsonschema:"how the terminal application looks"`
	Skills      Skills      `toml:"skills" json:"skills,omitzero" jsonschema:"instructions for kinds of tasks"`
	Triggers    []Trigger   `toml:"triggers" json:"triggers,omitempty" jsonschema:"webhooks that the agent can call"`
	Hooks       []Hook      `toml:"hooks" json:"hooks,omitempty" project:"trusted" jsonschema:"commands to run on session events"`
	ClaudeHooks bool        `toml:"claude_hooks" json:"claude_hooks,omitempty" jsonschema:"also run Claude Code hooks: the user's and, in trusted projects, the project's"`
}

// Run limits a run.
type Run struct {
	MaxRounds int     `toml:"max_rounds" json:"max_rounds,omitempty" default:"200" min:"0" project:"stricter" jsonschema:"maximum tool rounds per prompt"`
	MaxTurns  int     `toml:"max_turns" json:"max_turns,omitempty" default:"0" min:"0" project:"stricter" jsonschema:"maximum model calls in a session; 0 means no limit"`
	Budget    float64 `toml:"budget" json:"budget,omitempty" default:"0" min:"0" project:"stricter" jsonschema:"spending limit per session in US dollars; 0 means no limit"`
	CompactAt float64 `toml:"compact_at" agent:"ask" json:"compact_at,omitempty" default:"0.8" min:"0" max:"1" project:"trusted" jsonschema:"fraction of the context window at which the conversation is compacted; 0 disables it"`
	// PastPriceStep lets conversations continue when they reach a size at which tokens cost more.
	PastPriceStep bool `toml:"past_price_step" json:"past_price_step,omitempty" env:"REINS_PAST_PRICE_STEP" project:"trusted" jsonschema:"whether the conversation may grow past the length above which tokens cost more; otherwise it is compacted before"`
	Teams         bool `toml:"teams" json:"teams,omitempty" jsonschema:"whether agents share a task list, form teams and send each other messages"`
}

// Permissions configures which calls are allowed, need approval or are denied.
type Permissions struct {
	Mode  string   `toml:"mode" json:"mode,omitempty" default:"default" env:"REINS_MODE" project:"stricter" enum:"default acceptEdits plan auto dontAsk bypassPermissions" jsonschema:"permission mode"`
	Allow []string `toml:"allow" json:"allow,omitempty" jsonschema:"calls to run without asking, such as Bash(git commit:*), Read(src/**), WebFetch(domain:example.com) or mcp__server"`
	Ask   []string `toml:"ask" json:"ask,omitempty" project:"any" jsonschema:"calls to ask about, even if another rule allows them"`
	Deny  []string `toml:"deny" json:"deny,omitempty" project:"any" jsonschema:"calls to refuse; wins over every other rule"`
	// Rules is another form of Allow, Ask and Deny. Load moves its rules to those lists.
	Rules []Rule `toml:"rule" json:"rule,omitempty" project:"any" jsonschema:"rules as tables"`

	AdditionalDirectories []string `toml:"additional_directories" json:"additional_directories,omitempty" jsonschema:"directories that count as inside the workspace"`
	Protected             []string `toml:"protected" json:"protected,omitempty" project:"any" jsonschema:"files and directories to protect from changes; only an allow rule that names the path, such as Edit(go.sum), lifts it"`
}

// Rule is a permission rule as a table. Command, Path and Domain stand for the part that other rules have in
// parentheses; at most one may be set.
type Rule struct {
	Decision string `toml:"decision" json:"decision" enum:"allow ask deny" jsonschema:"allow, ask or deny"`
	Tool     string `toml:"tool" json:"tool" jsonschema:"tool, such as Bash, Read, Edit, WebFetch or mcp__server"`
	Command  string `toml:"command" json:"command,omitempty" jsonschema:"command, or a command prefix if it ends with :*"`
	Path     string `toml:"path" json:"path,omitempty" jsonschema:".gitignore pattern for paths"`
	Domain   string `toml:"domain" json:"domain,omitempty" jsonschema:"domain"`
}

// Sandbox limits what commands can reach.
type Sandbox struct {
	Mode          string   `toml:"mode" json:"mode,omitempty" env:"REINS_SANDBOX" enum:"read-only workspace-write off" jsonschema:"what commands can write: read-only (nothing), workspace-write or off (default: workspace-write where the system can enforce it)"`
	Network       Network  `toml:"network" json:"network,omitempty" jsonschema:"what commands in the sandbox can reach over the network: true (everything), false (nothing), or a list of hosts such as github.com, *.npmjs.org and example.com:8443"`
	WritableRoots []string `toml:"writable_roots" json:"writable_roots,omitempty" jsonschema:"directories that commands in the sandbox can write to, in addition to the workspace"`
	Readable      []string `toml:"readable" json:"readable,omitempty" jsonschema:"files and directories that commands in the sandbox can read although they hold credentials (such as ~/.npmrc) or are outside the workspace"`
	Denied        []string `toml:"denied" json:"denied,omitempty" jsonschema:"files and directories that neither commands in the sandbox nor tools can read or write"`
	Reading       string   `toml:"reading" json:"reading,omitempty" enum:"all listed" jsonschema:"what commands in the sandbox can read: all (everything but credentials and denied files) or listed (only the workspace, system files, tools in the home directory, and sandbox.readable) (default: all)"`
}

// Environment selects environment variables for commands.
type Environment struct {
	Pass []string `toml:"pass" json:"pass,omitempty" jsonschema:"additional environment variables to pass to commands, such as GH_TOKEN or AWS_*"`
}

// Secrets configures redaction.
type Secrets struct {
	Redact   bool     `toml:"redact" json:"redact,omitempty" default:"true" jsonschema:"whether secrets in tool results are replaced before models and logs see them; exports and the audit log are always redacted"`
	Names    []string `toml:"names" json:"names,omitempty" project:"trusted" jsonschema:"names of additional environment variables whose values are secret; * matches any characters"`
	Patterns []string `toml:"patterns" json:"patterns,omitempty" project:"trusted" jsonschema:"regular expressions for additional secrets, such as EMP-[0-9]{6}"`
}

// Audit configures the audit log.
type Audit struct {
	Enabled  bool   `toml:"enabled" json:"enabled,omitempty" default:"true" jsonschema:"whether tool calls are recorded in the audit log"`
	Required bool   `toml:"required" json:"required,omitempty" default:"true" jsonschema:"whether tools are refused while the audit log cannot be written"`
	Path     string `toml:"path" json:"path,omitempty" jsonschema:"audit log file (default: audit/audit.jsonl in the state directory)"`
	MaxSize  int    `toml:"max_size" json:"max_size,omitempty" default:"16" min:"1" max:"1048576" jsonschema:"size in MiB at which a new file is started"`
	Keep     int    `toml:"keep" json:"keep,omitempty" default:"10" min:"1" max:"10000" jsonschema:"number of older files to keep"`
}

// MCP configures how MCP servers are used. The servers themselves are in mcp.json.
type MCP struct {
	Wait       int `toml:"wait" agent:"ask" json:"wait,omitempty" default:"5" min:"0" max:"600" jsonschema:"how long the first model call waits for MCP servers, in seconds"`
	DeferAbove int `toml:"defer_above" agent:"ask" json:"defer_above,omitempty" default:"10000" min:"0" jsonschema:"total size in tokens of MCP tool definitions above which the model searches for tools instead of seeing all of them; 0 means never"`
	// Unconfined names project MCP servers. Projects cannot lift the sandbox for their servers themselves.
	Unconfined []string `toml:"unconfined" json:"unconfined,omitempty" jsonschema:"names of project MCP servers that may run outside the sandbox, if the project asks for it"`
}

// Web configures the tools that read the web.
type Web struct {
	Fetch         bool   `toml:"fetch" json:"fetch,omitempty" jsonschema:"whether the agent has the web_fetch tool; setting search_backend adds it too"`
	AllowPrivate  bool   `toml:"allow_private" json:"allow_private,omitempty" jsonschema:"whether web_fetch can connect to private addresses, such as this machine's, and use the proxy from the environment"`
	SearchBackend string `toml:"search_backend" json:"search_backend,omitempty" enum:"searxng brave provider" jsonschema:"search engine for the web_search tool; provider means the model provider's search (default: none)"`
	SearchURL     string `toml:"search_url" json:"search_url,omitempty" jsonschema:"URL of the SearXNG instance, which must have the json format enabled"`
	SearchKeyEnv  string `toml:"search_key_env" json:"search_key_env,omitempty" jsonschema:"environment variable with the search engine's API key (default: BRAVE_API_KEY)"`
}

// Trigger is a webhook that the agent can call. Its secret is never stored in a file.
type Trigger struct {
	Name      string `toml:"name" json:"name" jsonschema:"name that the agent uses"`
	URL       string `toml:"url" json:"url" jsonschema:"URL that gets the signed payload"`
	SecretEnv string `toml:"secret_env" json:"secret_env" jsonschema:"environment variable with the signing secret"`
}

// Coder configures "reins coder" and the coder tool.
type Coder struct {
	Enabled    bool     `toml:"enabled" json:"enabled,omitempty" jsonschema:"whether reins mcp serve offers the coder tool"`
	Provider   string   `toml:"provider" json:"provider,omitempty" jsonschema:"model provider (default: provider)"`
	Model      string   `toml:"model" json:"model,omitempty" jsonschema:"model (default: model, or the default model of coder.provider)"`
	FullAccess bool     `toml:"full_access" json:"full_access,omitempty" jsonschema:"whether callers can choose the sandbox danger-full-access"`
	Backend    string   `toml:"backend" json:"backend,omitempty" default:"reins" enum:"reins command" jsonschema:"what runs the task: a Reins session, or a command"`
	Command    []string `toml:"command" json:"command,omitempty" merge:"replace" jsonschema:"program and arguments of an agent that reads the task from standard input and prints stream-json"`
	ResumeFlag string   `toml:"resume_flag" json:"resume_flag,omitempty" default:"--resume" jsonschema:"flag that tells the command which session to continue"`
	SystemFlag string   `toml:"system_flag" json:"system_flag,omitempty" default:"--append-system-prompt" jsonschema:"flag that passes instructions to the command; if it is empty, they are put before the task"`
	Pass       []string `toml:"pass" json:"pass,omitempty" jsonschema:"environment variables to pass to the command, such as ANTHROPIC_*"`
	Writable   []string `toml:"writable" json:"writable,omitempty" jsonschema:"additional directories that the command can write to, such as its state directory"`
}

// LSP configures language servers. Each server has a key for its command.
type LSP struct {
	Enabled            bool   `toml:"enabled" json:"enabled,omitempty" default:"true" jsonschema:"whether to use installed language servers, for the tools lsp and read_lints and to report errors caused by edits"`
	DiagnosticsTimeout string `toml:"diagnostics_timeout" json:"diagnostics_timeout,omitempty" default:"2s" format:"duration" jsonschema:"how long to wait after an edit for the errors that it causes"`
	Gopls              string `toml:"gopls" json:"gopls,omitempty" jsonschema:"Go language server command, or off (default: gopls)"`
	TypeScript         string `toml:"typescript" json:"typescript,omitempty" jsonschema:"TypeScript and JavaScript language server command, or off (default: typescript-language-server --stdio)"`
	Pyright            string `toml:"pyright" json:"pyright,omitempty" jsonschema:"Python language server command, or off (default: pyright-langserver --stdio)"`
	RustAnalyzer       string `toml:"rust_analyzer" json:"rust_analyzer,omitempty" jsonschema:"Rust language server command, or off (default: rust-analyzer); used in trusted projects only"`
	Clangd             string `toml:"clangd" json:"clangd,omitempty" jsonschema:"C and C++ language server command, or off (default: clangd --log=error)"`
}

// Memory configures the notes that agents keep between sessions.
type Memory struct {
	Enabled bool `toml:"enabled" json:"enabled,omitempty" default:"true" jsonschema:"whether agents keep notes between sessions"`
	Budget  int  `toml:"budget" json:"budget,omitempty" default:"4096" min:"0" max:"65536" jsonschema:"maximum size in bytes of the notes in the prompt; 0 for none"`
}

// Terminal configures the terminal application.
type Terminal struct {
	Theme         string   `toml:"theme" json:"theme,omitempty" env:"REINS_THEME" jsonschema:"theme: auto, dark, light, dark-contrast, light-contrast, ansi, or the name of a file in the themes directory (default: auto)"`
	Status        []string `toml:"status" json:"status,omitempty" merge:"replace" enum:"mode model context questions agents background cost branch sandbox network script cache" jsonschema:"status line parts, the most important first (default: all)"`
	StatusCommand string   `toml:"status_command" json:"status_command,omitempty" jsonschema:"shell command whose first line of output is shown in the status line"`
	Images        string   `toml:"images" json:"images,omitempty" enum:"auto off" jsonschema:"images in the conversation: auto, which draws them if the terminal can, or off (default: auto)"`
}

// Skills selects skills.
type Skills struct {
	Paths   []string `toml:"paths" json:"paths,omitempty" jsonschema:"additional skills, or directories with skills"`
	Disable []string `toml:"disable" json:"disable,omitempty" project:"trusted" jsonschema:"names of skills and commands to disable"`
}

// Hook is a command that runs at a session event.
type Hook struct {
	Event   string `toml:"event" json:"event" enum:"PreToolUse PostToolUse PostToolUseFailure PermissionRequest PermissionDenied UserPromptSubmit SessionStart SessionEnd Stop StopFailure SubagentStart SubagentStop PreCompact PostCompact Notification Setup ConfigChange CwdChanged FileChanged TaskCreated TaskCompleted TeammateIdle WorktreeCreate WorktreeRemove" jsonschema:"event that runs the command"`
	Matcher string `toml:"matcher" json:"matcher,omitempty" jsonschema:"tools that the hook applies to, such as Bash or Edit|Write (default: all)"`
	Command string `toml:"command" json:"command" jsonschema:"shell command"`
	Name    string `toml:"name" json:"name,omitempty" jsonschema:"display name (default: the command)"`
	Timeout int    `toml:"timeout" json:"timeout,omitempty" min:"0" jsonschema:"time limit in seconds (default: 60, and 10 for SessionEnd)"`
	OnError string `toml:"on_error" json:"on_error,omitempty" enum:"allow block" jsonschema:"what to do if the hook fails (default: block for PreToolUse and PermissionRequest)"`
}
