// Package feature has the extensions of coding sessions that `reins run` uses: MCP servers, skills, scheduled jobs,
// worktrees, language servers, notes between sessions, and the web search of providers. List them in
// coding.Config.Extensions. The order does not change what they do, but HostedSearch comes before Skills.
package feature
