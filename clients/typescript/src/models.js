// Written by `make clients` from the server's OpenAPI schema: change that, not this.

export {};
