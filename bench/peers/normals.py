"""normals.py - seconds per standard normal number of NumPy on one core: f64 f32."""
import time

import numpy

rng = numpy.random.default_rng(1)
n = 2_000_000


def best(dtype):
    out = numpy.empty(n, dtype)
    times = []
    for _ in range(9):
        start = time.perf_counter()
        rng.standard_normal(out=out, dtype=dtype)
        times.append(time.perf_counter() - start)
    return min(times) / n


print(best(numpy.float64), best(numpy.float32))
