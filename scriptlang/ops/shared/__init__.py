"""What kernels share: types of results, layouts, random numbers, functions of numbers."""
