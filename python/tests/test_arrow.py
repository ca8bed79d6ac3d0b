"""Tables of Arrow by its C data interface: every width of numbers, words, missing values, slices, batches, readers."""

import os
import subprocess
import sys

import numpy as np
import pytest

from fabayes import BayesianLinearRegression, BayesianPoissonRegression, FactorAnalysis, KMeans, _core, mmd_test
from fabayes._tables import ArrowTable, Words

pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
R = np.random.RandomState(5)
N = 90
STREET = np.array(["hill", "bay", "Ödland", "main road"])[R.randint(0, 4, N)]
SIZE, AGE = R.randn(N), R.randint(0, 50, N)
PRICE = 2 * SIZE + 0.1 * AGE + np.where(STREET == "hill", 3.0, 0.0) + 0.2 * R.randn(N)
MATRIX = R.randn(N, 4) @ R.randn(4, 4)
PROGRAM = os.environ.get("FABAYES")


def houses(kind=lambda a: a):
    return pyarrow.table({"size": SIZE, "street": kind(pyarrow.array(STREET)), "age": AGE})


def reader(table, rows=17):
    """A stream that is read once, in batches."""
    return pyarrow.RecordBatchReader.from_batches(table.schema, iter(table.to_batches(max_chunksize=rows)))


def of_numbers(name=lambda i: f"x{i}", dtype=float):
    return pyarrow.table({name(i): MATRIX[:, i].astype(dtype) for i in range(4)})


WIDTHS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"]


@pytest.mark.parametrize("width", WIDTHS)
def test_every_width_of_numbers_is_that_of_numpy(width):
    info = np.finfo(width) if width.startswith("float") else np.iinfo(width)
    a = np.array([0, 1, 2, 3, info.max, info.min, 100, 7], dtype=width)
    if width.startswith("float"):
        a[6] = info.smallest_subnormal
    t = pyarrow.table({"a": a, "b": np.arange(8.0)})
    assert np.array_equal(np.asarray(ArrowTable(t))[:, 0], a.astype(float))
    assert np.array_equal(np.asarray(ArrowTable(t.slice(3, 4)))[:, 0], a[3:7].astype(float))


def test_booleans_are_bits_and_nulls_are_missing():
    bits = R.rand(100) < 0.5
    there = R.rand(100) < 0.8
    t = pyarrow.table({"bit": pyarrow.array([bool(b) if w else None for b, w in zip(bits, there)]),
                       "x": pyarrow.array([float(i) if w else None for i, w in enumerate(there)]),
                       "i": pyarrow.array([i if w else None for i, w in enumerate(there)], pyarrow.int16()),
                       "none": pyarrow.nulls(100)})
    for first, n in ((0, 100), (3, 50), (13, 87), (99, 1)):
        a, w = np.asarray(ArrowTable(t.slice(first, n))), there[first:first + n]
        assert np.array_equal(a[:, 0], np.where(w, bits[first:first + n], np.nan), equal_nan=True)
        assert np.array_equal(a[:, 1], np.where(w, np.arange(first, first + n), np.nan), equal_nan=True)
        assert np.array_equal(a[:, 2], a[:, 1], equal_nan=True) and np.isnan(a[:, 3]).all()


def test_single_precision_stays_single():
    assert np.asarray(ArrowTable(of_numbers(dtype=np.float32))).dtype == np.float32
    a = np.asarray(ArrowTable(of_numbers()))
    assert a.dtype == np.float64 and np.array_equal(a, MATRIX)


KINDS = {"string": lambda a: a, "large_string": lambda a: a.cast(pyarrow.large_string()),
         "dictionary": lambda a: a.dictionary_encode(),
         "dictionary of large": lambda a: a.cast(pyarrow.large_string()).dictionary_encode()}
if hasattr(pyarrow, "string_view"):
    KINDS["view"] = lambda a: a.cast(pyarrow.string_view())


@pytest.mark.parametrize("kind", KINDS)
def test_words_come_in_every_form(kind):
    words = [None if i % 7 == 3 else ["", "a", "ä", "a word of more than twelve bytes", "oak"][i % 5] for i in range(60)]
    t = pyarrow.table({"w": KINDS[kind](pyarrow.array(words, pyarrow.string()))})
    for part in (t, t.slice(11, 30), pyarrow.concat_tables([t.slice(40, 20), t.slice(0, 9)])):
        got = ArrowTable(part)["w"]
        assert isinstance(got, Words) and list(np.asarray(got)) == [w or None for w in part["w"].to_pylist()]


def test_dictionaries_that_differ_between_batches_agree_on_words():
    a = pyarrow.table({"w": pyarrow.array(["oak", "elm", "oak"]).dictionary_encode()})
    b = pyarrow.table({"w": pyarrow.array(["ash", None, "oak"]).dictionary_encode()})
    both = pyarrow.concat_tables([a, b])
    assert list(np.asarray(ArrowTable(both)["w"])) == ["oak", "elm", "oak", "ash", None, "oak"]
    assert ArrowTable(both)["w"].coded()[1] == ["ash", "elm", "oak"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_fits_as_a_frame_of_pandas_does(kind):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"size": SIZE, "street": STREET, "age": AGE})
    theirs = BayesianLinearRegression().fit(frame, PRICE)
    table = houses(KINDS[kind])
    for X in (table, reader(table), pyarrow.concat_tables([table.slice(0, 40), table.slice(40)])):
        m = BayesianLinearRegression().fit(X, PRICE)
        assert m.coef_names_ == theirs.coef_names_ and list(m.feature_names_in_) == ["size", "street", "age"]
        assert np.array_equal(m.coef_, theirs.coef_)
        assert np.array_equal(m.predict(table), theirs.predict(frame)) and np.array_equal(m.predict(frame), m.predict(table))
    batch = table.combine_chunks().to_batches()[0]
    assert np.array_equal(m.predict(batch), theirs.predict(frame))
    assert np.array_equal(m.predict(batch.slice(20, 5)), theirs.predict(frame)[20:25])
    weight = (np.arange(N) % 3).astype(float)
    assert np.array_equal(BayesianLinearRegression().fit(table, PRICE, weight).coef_,
                          BayesianLinearRegression().fit(frame, PRICE, weight).coef_)


def test_numbers_alone_are_a_matrix():
    ours, theirs = FactorAnalysis(2).fit(of_numbers()), FactorAnalysis(2).fit(MATRIX)
    np.testing.assert_allclose(ours.components_, theirs.components_, rtol=1e-9)
    assert list(ours.feature_names_in_) == ["x0", "x1", "x2", "x3"]
    np.testing.assert_allclose(ours.transform(reader(of_numbers())), theirs.transform(MATRIX), rtol=1e-9, atol=1e-12)
    assert np.array_equal(KMeans(3, random_state=0).fit(of_numbers()).labels_, KMeans(3, random_state=0).fit(MATRIX).labels_)
    counts = pyarrow.table({"x": MATRIX[:, 0], "b": MATRIX[:, 1] > 0})
    y = R.poisson(2.0, N)
    m = BayesianPoissonRegression().fit(counts, y)
    np.testing.assert_allclose(m.coef_, BayesianPoissonRegression().fit(np.column_stack([MATRIX[:, 0], MATRIX[:, 1] > 0]), y).coef_)
    assert mmd_test(of_numbers().slice(0, 40), MATRIX[40:], permutations=50).pvalue == mmd_test(MATRIX[:40], MATRIX[40:],
                                                                                             permutations=50).pvalue


def test_a_stream_learns_from_batches():
    whole = FactorAnalysis(2, method="online-em", random_state=1)
    parts = FactorAnalysis(2, method="online-em", random_state=1)
    for batch in reader(of_numbers()):
        parts.partial_fit(batch)
    whole.partial_fit(MATRIX)
    assert np.array_equal(whole.gauss_.factor, parts.gauss_.factor)


def test_row_groups_of_a_parquet_file_are_batches(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = houses(KINDS["dictionary"])
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=25)
    m = BayesianLinearRegression().fit(parquet.read_table(tmp_path / "t.parquet"), PRICE)
    assert np.array_equal(m.coef_, BayesianLinearRegression().fit(table, PRICE).coef_)
    batches = parquet.ParquetFile(tmp_path / "t.parquet").iter_batches(batch_size=25)
    assert np.array_equal(np.concatenate([m.predict(b) for b in batches]), m.predict(table))


@pytest.mark.skipif(not PROGRAM, reason="FABAYES does not name the program")
def test_the_line_that_a_parquet_file_is_answered_with_works(tmp_path):
    pytest.importorskip("pandas")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(houses().append_column("price", [PRICE]), tmp_path / "t.parquet")
    fit = [PROGRAM, "fit", "t.parquet", "-y", "price", "-o", "q", "--quiet"]
    told = subprocess.run(fit, cwd=tmp_path, capture_output=True, text=True)
    assert told.returncode == 1 and "is a Parquet file; python3 -c" in told.stderr
    line = told.stderr.split("Parquet file; ")[1].split(" makes a table")[0].replace("python3", sys.executable, 1)
    subprocess.run(line, shell=True, check=True, cwd=tmp_path)
    subprocess.run([*fit[:2], "t.parquet.csv", *fit[3:]], check=True, cwd=tmp_path)


# ---- what is refused ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("values, what", [
    (pyarrow.array([1, 2], pyarrow.date32()), "column 'c' has dates (Arrow's format 'tdD')"),
    (pyarrow.array([1, 2], pyarrow.timestamp("us")), "column 'c' has timestamps (Arrow's format 'tsu:')"),
    (pyarrow.array([[1], [2]]), "column 'c' has lists"),
    (pyarrow.array([b"a", b"b"]), "column 'c' has bytes"),
    (pyarrow.array([{"a": 1}, {"a": 2}]), "column 'c' has structs"),
    (pyarrow.array([1, 2]).dictionary_encode(), "column 'c' has a dictionary of numbers"),
])
def test_other_types_are_refused_by_name(values, what):
    with pytest.raises(ValueError) as e:
        ArrowTable(pyarrow.table({"x": [1.0, 2.0], "c": values}))
    assert what in str(e.value) and "expected numbers, booleans or words; cast it" in str(e.value)


def test_what_is_no_table_is_refused():
    with pytest.raises(ValueError, match="0 feature"):
        ArrowTable(pyarrow.table({}))
    with pytest.raises(ValueError, match="expected a table or a record batch"):
        ArrowTable(pyarrow.chunked_array([[1.0, 2.0]]))
    with pytest.raises(ValueError, match="the column 'a' comes more than once"):
        ArrowTable(pyarrow.Table.from_arrays([pyarrow.array([1]), pyarrow.array([2])], names=["a", "a"]))
    with pytest.raises(ValueError, match="expected a capsule 'arrow_array_stream'"):
        _core.arrow_stream(3)
    capsule = of_numbers().__arrow_c_stream__()
    _core.arrow_stream(capsule)
    with pytest.raises(ValueError, match="was read already"):
        _core.arrow_stream(capsule)


def test_a_stream_that_fails_says_why():
    def batches():
        yield of_numbers().to_batches()[0]
        raise RuntimeError("the disk is gone")

    broken = pyarrow.RecordBatchReader.from_batches(of_numbers().schema, batches())
    with pytest.raises(Exception, match="the disk is gone"):
        FactorAnalysis(2).fit(broken)


def test_other_columns_than_those_of_the_fit_are_refused():
    m = FactorAnalysis(2).fit(of_numbers())
    with pytest.raises(ValueError, match="feature names should match .* found a0, a1, a2, a3, expected x0, x1, x2, x3"):
        m.transform(of_numbers(lambda i: f"a{i}"))
    with pytest.raises(ValueError, match="X has 3 features, but FactorAnalysis is expecting 4"):
        FactorAnalysis(2).fit(MATRIX).transform(of_numbers().select(["x0", "x1", "x2"]))


def test_missing_values_are_refused_as_in_a_frame():
    table = pyarrow.table({"x": pyarrow.array([1.0, None, 3.0, 4.0]), "z": [1.0, 2.0, 4.0, 3.0]})
    with pytest.raises(ValueError, match="NaN"):
        BayesianLinearRegression().fit(table, [1.0, 2.0, 3.0, 4.0])
    words = pyarrow.table({"x": [1.0, 2.0, 3.0, 4.0], "street": ["a", "b", None, "a"]})
    with pytest.raises(ValueError, match="row 2, column 'street': a missing value"):
        BayesianLinearRegression().fit(words, [1.0, 2.0, 3.0, 4.0])


def test_a_table_is_let_go():
    pool = pyarrow.total_allocated_bytes()
    for _ in range(3):
        ArrowTable(reader(houses(KINDS["dictionary"])))
        ArrowTable(houses().to_batches()[0])
    assert pyarrow.total_allocated_bytes() <= pool + 1024
