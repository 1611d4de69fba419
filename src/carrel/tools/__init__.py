"""What a model may call, each tool with its arguments as a struct; scope is fixed before a tool is made."""
