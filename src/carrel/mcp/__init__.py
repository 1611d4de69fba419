"""The MCP server: an agent's tools, memory and context for clients that speak the Model Context Protocol."""
