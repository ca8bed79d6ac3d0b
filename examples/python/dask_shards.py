"""dask_shards.py - a table in 20 partitions, each fitted by a worker of Dask, and the posteriors merged into that of all rows.

    python3 -m pip install 'dask[distributed,dataframe]'
    python3 examples/python/dask_shards.py

Only posteriors travel: some kilobytes a partition, whatever its rows.  The same lines work on a cluster: give Client its address.

SPDX-License-Identifier: MIT
"""

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask import delayed
from dask.distributed import Client

from fabayes import BayesianLinearRegression, merge


def make_table(rows):
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"area": rng.gamma(4, 20, rows), "age": rng.uniform(0, 90, rows), "rooms": rng.integers(1, 8, rows)})
    table["price"] = 50 + 3 * table.area - 0.4 * table.age + 12 * table.rooms + 25 * rng.normal(size=rows)
    return table


def fit(part):  # runs in a worker, on one partition
    return BayesianLinearRegression(method="exact").fit(part.drop(columns="price"), part.price)


def main():
    table = make_table(100_000)
    frame = dd.from_pandas(table, npartitions=20)
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        shards = client.gather(client.compute([delayed(fit)(part) for part in frame.to_delayed()]))
    merged = merge(shards)
    whole = fit(table)
    print(f"{len(shards)} partitions, {merged.merge_['rows']:.0f} rows")
    for name, a, b, sd in zip(table.columns, merged.coef_, whole.coef_, whole.coef_sd_):
        print(f"{name:6} merged {a:.6f}, all rows at once {b:.6f}, sd {sd:.6f}")
    assert len(shards) == 20
    assert np.allclose(merged.coef_, whole.coef_, rtol=1e-8)  # exact: the moments of the rows add up


if __name__ == "__main__":
    main()
