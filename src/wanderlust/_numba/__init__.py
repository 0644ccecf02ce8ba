"""Everything that knows numba and llvmlite: compilation, its cache, methods, structs by pointer, calls by address."""
