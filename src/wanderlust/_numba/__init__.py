"""Everything that knows numba and llvmlite: compilation, its cache, structs by pointer, scattered loads."""
