"""test_mpi.py PROGRAM - `fabayes fa` divided among processes by mpirun: the answer of one, and failures that end all of them."""
# SPDX-License-Identifier: MIT
import json
import os
import shutil
import signal
import subprocess
import time

import numpy as np
from cli_case import Case, run

os.environ.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")  # processes may be more than cores
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none", "-q"]
D, K, N = 97, 3, 260
STREAMS = ("recursive-em", "online-em", "stochastic-em", "online-sga")


def rows(n=N, d=D, seed=2385):
    r = np.random.default_rng(seed)
    return r.normal(size=(n, K)) @ r.normal(size=(K, d)) + r.normal(size=(n, d)) + r.normal(size=d)


def open_posterior(path):
    with open(path, "rb") as f:
        size = int.from_bytes(f.read(8), "little")
        header, data = json.loads(f.read(size)), f.read()
    dtype = {"F64": "<f8", "F32": "<f4", "I64": "<i8"}
    return {name: np.frombuffer(data[slice(*t["data_offsets"])], dtype[t["dtype"]]).reshape(t["shape"])
            for name, t in header.items() if name != "__metadata__"}, header["__metadata__"]


class Several(Case):
    def setUp(self):
        super().setUp()
        self.x = rows()
        self.npy = self.path("x.npy")
        np.save(self.npy, self.x)

    def start(self, n, *args, wrapper=(), **more):
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        return subprocess.Popen([*MPIRUN, *root, "-n", str(n), *wrapper, self.program, *map(str, args)], cwd=self.folder,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def several(self, n, *args, wrapper=()):
        """Exit status, standard output and standard error."""
        p = self.start(n, *args, wrapper=wrapper)
        try:
            out, err = p.communicate(timeout=100)
        except subprocess.TimeoutExpired:
            p.terminate()
            p.communicate()
            raise
        return p.returncode, out.decode(), err.decode()

    def fine(self, n, *args):
        status, out, err = self.several(n, *args)
        self.assertEqual((status, err), (0, ""))
        return out

    def refused(self, status, n, *args, says=(), wrapper=()):
        """One sentence of one process, the exit status of all, no output."""
        got, out, err = self.several(n, *args, wrapper=wrapper)
        self.assertEqual((got, out), (status, ""), err)
        self.assertTrue(err.startswith("fabayes: "), err)
        self.assertEqual(err.count("\n"), 1, err)
        for word in says:
            self.assertIn(word, err)

    def only_in(self, rank, does):
        """A program in front of the call, which does something else in one process."""
        path = self.path("only")
        with open(path, "w") as f:
            f.write('#!/bin/sh\nif [ "$OMPI_COMM_WORLD_RANK" = %d ]; then %s; fi\nexec "$@"\n' % (rank, does))
        os.chmod(path, 0o755)
        return [path]

    def assert_same(self, a, b, gap=1e-10):
        p, q = open_posterior(a)[0], open_posterior(b)[0]
        for name in ("mu", "psi"):
            self.assertLessEqual(np.abs(p[name] / q[name] - 1).max(), gap, name)
        S, T = p["F"] @ p["F"].T, q["F"] @ q["F"].T
        self.assertLessEqual(np.abs(S - T).max() / np.abs(T).max(), gap)

    # ---- the same answer --------------------------------------------------------------------------

    def check_same(self, data, method, *args, gap=1e-10):
        alone, together = self.path("alone.st"), self.path("together.st")
        call = ["fa", data, "-k", K, "-m", method, "--quiet", *args]
        self.good(*call, "-o", alone)
        for n in (2, 4):
            self.fine(n, *call, "-o", together)
            self.assert_same(together, alone, gap)

    def test_every_stream_is_that_of_one_process(self):
        for method in STREAMS:
            # where EM cuts, the loops end as psi moves by less than tol
            gap = 1e-7 if method == "recursive-em" else 1e-10
            more = ("--block=20", "--tol=1e-12", "--max_iter=100000") if method == "recursive-em" else ()
            self.check_same(self.npy, method, *more, gap=gap)

    def test_f32_csv_and_compressed_files_are_shared_too(self):
        single = self.path("single.npy")
        np.save(single, self.x.astype("f4"))
        self.check_same(single, "online-em")
        csv = self.path("x.csv")
        np.savetxt(csv, self.x, fmt="%.17g", delimiter=",", header=",".join("c%d" % d for d in range(D)), comments="")
        self.check_same(csv, "online-em")
        self.check_same(csv, "online-em", "--exclude", "c3,c50")
        subprocess.run(["gzip", "-k", self.npy, csv], check=True)
        self.check_same(self.npy + ".gz", "online-em")
        self.check_same(csv + ".gz", "online-em")

    def test_sparse_rows_are_shared(self):
        svm = self.path("x.svm")
        with open(svm, "w") as f:
            for row in self.x:
                f.write("1 " + " ".join("%d:%r" % (d + 1, float(v)) for d, v in enumerate(row) if abs(v) > 1) + "\n")
        self.check_same(svm, "online-em")
        self.check_same(svm, "stochastic-em", "--dtype", "f64")

    def test_kept_rows_are_the_same_rows(self):
        keep = self.write("keep.txt", b"".join(b"%d\n" % i for i in range(3, N, 2)))
        self.check_same(self.npy, "online-em", "--rows", keep)

    def test_the_report_is_that_of_one_process(self):
        x = self.x.copy()
        x[:, 60] = 2.385
        np.save(self.npy, x)
        call = ["fa", self.npy, "-k", K, "-m", "online-em", "--held=%d" % N, "--json"]
        alone, together = self.good_json(*call[:-1]), json.loads(self.fine(4, *call))
        self.assertLessEqual(abs(together["loglik_mean"] / alone["loglik_mean"] - 1), 1e-10)
        for key in ("D", "K", "n", "rows", "floored", "floored_names", "constant_names", "method", "settings"):
            self.assertEqual(together[key], alone[key], key)
        self.assertEqual(together["constant_names"], ["x60"])
        self.assertLessEqual(np.abs(np.subtract(together["factors"], alone["factors"])).max(), 1e-10)

    def test_loadings_and_scores_are_those_of_one_process(self):
        for n, name in ((0, "alone"), (2, "together")):
            call = ["fa", self.npy, "-k", K, "-m", "online-em", "--quiet", "-o", self.path(name + ".st"),
                    "--scores", self.path(name + ".npy"), "--loadings", self.path(name + ".csv")]
            self.fine(n, *call) if n else self.good(*call)
        a, b = np.load(self.path("alone.npy")), np.load(self.path("together.npy"))
        self.assertLessEqual(np.abs(a - b).max(), 1e-9)
        a, b = (np.genfromtxt(self.path(f + ".csv"), delimiter=",", skip_header=1)[:, 1:] for f in ("alone", "together"))
        self.assertLessEqual(np.abs(a - b).max(), 1e-9)

    def test_a_process_reads_its_columns_alone(self):
        """Bytes that the system has read for each process: its half of the file, and not the other."""
        wide, n = 1000000, 12
        np.save(self.path("wide.npy"), rows(n, wide).astype("f4"))
        count = 'e=$OMPI_COMM_WORLD_RANK; "$@"; s=$?; grep rchar /proc/$$/io > read.$e; exit $s'
        status, _, err = self.several(2, "fa", self.path("wide.npy"), "-k", 2, "-m", "online-em", "--warmup=3", "--held=0", "--quiet",
                                      "-o", self.path("w.safetensors.index.json"), wrapper=["sh", "-c", count, "sh"])
        self.assertEqual(status, 0, err)
        for rank in range(2):  # a shell has waited for the program, whose bytes count as its own
            with open(self.path("read.%d" % rank)) as f:
                self.assertLess(int(f.read().split()[1]), 0.75 * 4 * n * wide)

    # ---- files ------------------------------------------------------------------------------------

    def test_shards_are_read_as_one_file(self):
        alone, index = self.path("alone.st"), self.path("q.safetensors.index.json")
        call = ["fa", self.npy, "-k", K, "-m", "online-em"]
        self.good(*call, "-o", alone, "--quiet")
        said = json.loads(self.fine(4, *call, "-o", index, "--json"))
        self.assertEqual((said["D"], said["n"], said["processes"]), (D, N, 4))
        with open(index) as f:
            where = json.load(f)["weight_map"]
        whole = open_posterior(alone)[0]
        for name in ("mu", "psi"):
            parts = []
            for i in range(1, 5):
                part = "%s.%05d" % (name, i)
                self.assertEqual(where[part], "q-%05d-of-00004.safetensors" % i)
                parts.append(open_posterior(self.path(where[part]))[0][part])
            self.assertLessEqual(np.abs(np.concatenate(parts) / whole[name] - 1).max(), 1e-10)
        compared = self.good_json("compare", index, alone)
        self.assertLess(compared["covariance_distance"], 1e-10)
        self.assertIn("D = %d" % D, self.good("info", index))
        self.assertEqual(self.draws(index, 5).shape, (5, D))
        merged = self.path("m.st")
        self.good("merge", index, alone, "-o", merged)
        self.bad(1, "update", index, self.npy, says=("4 processes", "merged"))

    def test_shards_that_do_not_belong_together_are_refused(self):
        index = self.path("q.safetensors.index.json")
        call = ["fa", self.npy, "-m", "online-em", "-o", index, "--quiet"]
        shard = self.path("q-00002-of-00003.safetensors")
        self.fine(3, *call, "-k", 2)
        shutil.copy(shard, self.path("kept"))
        self.fine(3, *call, "-k", 3)
        with open(index, "rb") as f:
            text = f.read()
        shutil.copy(shard, self.path("right"))
        shutil.copy(self.path("kept"), shard)
        self.bad(1, "info", index, says=("q-00002-of-00003", "is not of the fit"))
        os.remove(shard)
        self.bad(1, "info", index, says=("q-00002-of-00003",))
        shutil.copy(self.path("right"), shard)
        for bad, word in ((b"{", "JSON"), (b"[]", "weight_map"), (text.replace(b"shards_check", b"shards"), "shards_check"),
                          (text.replace(b'"q-00001-of', b'"../q-00001-of'), "is not in the shard of its number"),
                          (text.replace(b'"F.00002"', b'"F"'), "is not a part of a tensor")):
            with open(index, "wb") as f:
                f.write(bad)
            self.bad(1, "info", index, says=(word,))
        with open(index, "wb") as f:
            f.write(text)
        self.good("info", index)

    def test_what_was_gathered_cannot_go_on_and_says_so(self):
        out = self.path("q.st")
        self.fine(2, "fa", self.npy, "-k", K, "-m", "online-em", "-o", out, "--quiet")
        self.assertEqual(open_posterior(out)[1]["processes"], "2")
        self.bad(1, "update", out, self.npy, says=("2 processes", "merged"))

    # ---- what refuses -----------------------------------------------------------------------------

    def test_other_verbs_and_methods_refuse(self):
        self.refused(2, 2, "sample", "q.st", "-n", 3, says=("sample: runs in one process", "FABAYES_PROCESSES"))
        for method in ("ml", "online-ml", "pca", "swag"):
            self.refused(1, 2, "fa", self.npy, "-k", K, "-m", method, says=("runs in one process",))
        self.refused(1, 2, "fa", self.npy, "-k", "auto", "-m", "recursive-em", says=("by BIC", "several"))
        self.refused(1, 2, "fa", self.npy, "-k", K, "-m", "online-em", "--weight", "x3", says=("weights", "several"))
        self.refused(1, 2, "fa", self.npy, "-k", K, "--missing", "drop", "-m", "online-em", says=("missing", "several"))
        self.refused(1, 2, "fa", self.npy, "-k", K, "-m", "online-em", "--checkpoint", 9, "-o", self.path("q.st"),
                     says=("checkpoints", "several"))
        self.refused(2, 2, "fa", self.npy, "-k", K, "-m", "online-em", "--resume", "-o", self.path("q.st"), says=("--resume",))
        self.refused(2, 2, "fa", self.npy, "-k", K, "-m", "online-em", "--scores", self.path("z.npy"), "-o",
                     self.path("q.safetensors.index.json"), says=("--scores",))
        self.bad(2, "fa", self.npy, "-k", K, "-o", self.path("q.safetensors.index.json"), says=("mpirun",))
        small = self.path("small.npy")
        np.save(small, self.x[:, :3])
        self.refused(1, 4, "fa", small, "-k", 1, "-m", "online-em", says=("3 coordinates for 4 processes",))

    def test_each_works_alone_where_that_is_asked_for(self):
        os.environ["FABAYES_PROCESSES"] = "none"
        try:
            self.assertEqual(self.fine(2, "--version").count("fabayes "), 2)
        finally:
            del os.environ["FABAYES_PROCESSES"]
        self.assertEqual(self.fine(2, "--version").count("fabayes "), 1)

    # ---- a process that fails ---------------------------------------------------------------------

    def test_wrong_calls_are_told_once(self):
        self.refused(2, 4, "fa", self.npy, says=("-k K",))
        self.refused(2, 4, "fa", self.npy, "-k", K, "-m", "online-eem", says=("online-em",))
        self.refused(2, 4, "predit", says=("predict",))
        self.refused(1, 4, "fa", "gone.npy", "-k", K, says=("gone.npy",))

    def test_a_bad_column_of_one_process_ends_all(self):
        for column in (0, 40, D - 1):
            x = self.x.copy()
            x[200, column] = np.nan
            np.save(self.path("bad.npy"), x)
            for n in (2, 4):
                self.refused(1, n, "fa", self.path("bad.npy"), "-k", K, "-m", "online-em",
                             says=("row 200, column %d" % column, "NaN"))

    def test_a_process_without_memory_ends_all(self):
        """Less and less, until it is not enough: what MPI itself takes is little beside that."""
        wide = self.path("wide.npy")
        np.save(wide, np.tile(rows(8, 40000).astype("f4"), 100))
        ended = []
        for megabytes in (8000, 3200, 1600, 800):
            status, out, err = self.several(2, "fa", wide, "-k", 6, "-m", "online-em", "--warmup=3", "--threads", 1, "--quiet", "-o",
                                            self.path("w.safetensors.index.json"),
                                            wrapper=self.only_in(1, "ulimit -v %d" % (1000 * megabytes)))
            ended.append(status)
            if status:
                self.assertEqual((status, out, err.count("\n")), (1, "", 1), err)
                self.assertTrue("allocate" in err or "are free" in err, err)
                break
        self.assertEqual((ended[0], ended[-1]), (0, 1))

    def test_processes_with_other_calls_or_files_refuse(self):
        np.save(self.path("short.npy"), self.x[:N - 1])
        np.save(self.path("narrow.npy"), self.x[:, 1:])
        call = ["fa", self.npy, "-k", K, "-m", "online-em"]
        for does, word in (('set -- "$1" fa short.npy -k 3 -m online-em', "other numbers of rows"),
                           ('set -- "$1" fa x.npy -k 2 -m online-em', "other methods, settings"),
                           ('set -- "$1" fa x.npy -k 3 -m online-sga', "other methods, settings"),
                           ('set -- "$1" fa gone.npy -k 3 -m online-em', "gone.npy")):
            for rank in (0, 1):
                got, out, err = self.several(2, *call, wrapper=self.only_in(rank, does))
                self.assertEqual((got in (1, 2), out, err.count("\n")), (True, "", 1), err)
                self.assertIn(word, err)
        got, out, err = self.several(2, *call, wrapper=self.only_in(1, 'set -- "$1" fa narrow.npy -k 3 -m online-em'))
        self.assertIn(got, (1, 2))
        self.assertTrue(err.startswith("fabayes: "), err)

    def test_an_output_that_cannot_be_written_is_told_once(self):
        self.refused(1, 4, "fa", self.npy, "-k", K, "-m", "online-em", "-o", "/nowhere/q.st", says=("/nowhere/q.st",))

    @staticmethod
    def runs(pid):
        try:
            with open("/proc/%d/stat" % pid) as f:
                return f.read().rpartition(")")[2].split()[0] not in "ZX"
        except OSError:
            return False

    def end_by(self, how, who):
        """Kill one process or mpirun while the work goes on; exit status, seconds until all had ended."""
        # far more than is read before the signal, and few rows at a time
        np.save(self.path("long.npy"), np.tile(rows(8, 300000).astype("f4"), (60, 1)))
        begun = self.path("pid")
        call = ["sh", "-c", 'echo $$ > %s.$OMPI_COMM_WORLD_RANK; exec "$@"' % begun, "sh"]
        p = self.start(2, "fa", self.path("long.npy"), "-k", 20, "-m", "online-em", wrapper=call)
        for _ in range(200):
            if os.path.exists(begun + ".0") and os.path.exists(begun + ".1"):
                break
            time.sleep(0.05)
        time.sleep(1.5)
        self.assertIsNone(p.poll())
        pids = []
        for rank in range(2):
            with open("%s.%d" % (begun, rank)) as f:
                pids.append(int(f.read()))
        started = time.time()
        os.kill(p.pid if who < 0 else pids[who], how)
        out, err = p.communicate(timeout=100)
        for pid in pids:
            for _ in range(100):  # whoever adopts it may not look after it at once
                if not self.runs(pid):
                    break
                time.sleep(0.05)
            self.assertFalse(self.runs(pid), pid)
        return p.returncode, time.time() - started, out.decode(), err.decode()

    def test_a_killed_process_ends_all(self):
        status, seconds, out, _ = self.end_by(signal.SIGKILL, 1)
        self.assertEqual((status, out), (128 + signal.SIGKILL, ""))
        self.assertLess(seconds, 30)

    def test_a_process_that_is_told_to_stop_stops_all(self):
        status, seconds, out, err = self.end_by(signal.SIGTERM, 1)
        self.assertEqual((status, out), (1, ""), err)
        self.assertIn("stopped", err)
        self.assertEqual(err.count("\n"), 1, err)

    def test_ctrl_c_stops_all(self):
        status, seconds, out, _ = self.end_by(signal.SIGINT, -1)
        self.assertNotEqual(status, 0)
        self.assertEqual(out, "")
        self.assertLess(seconds, 30)


def missing(program):
    if not shutil.which("mpirun"):
        return "there is no mpirun"
    if not os.path.exists(os.path.join(os.path.dirname(os.path.abspath(program)), "libfabayes_mpi.so")):
        return "the plug-in for MPI was not built"
    return None


if __name__ == "__main__":
    import sys
    why = missing(sys.argv[1]) if len(sys.argv) > 1 else None
    if why:
        print("skipped: %s; processes are tested as threads by comm" % why)
        sys.exit(77)
    run(Several)
