"""The memory as a server of the Model Context Protocol, over stdio or HTTP: tools, resources, a prompt."""
