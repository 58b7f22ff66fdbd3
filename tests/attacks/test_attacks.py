"""Any bytes given to load end in an ArchiveError or a module: nothing runs, crashes, hangs or
swells.
"""

import random
import time
import tracemalloc

import pytest
from scriptlang.serialization.archive import read_archive
from scriptlang.serialization.unpickle import unpickle

from scriptlang import types as T
from scriptlang.errors import ArchiveError, ScriptError
from tests.attacks import programs, zips
from tests.serialization.archives import DATA, zipped

ATTACKS = {**zips.ATTACKS, **programs.ATTACKS}
MEMORY = 200 << 20


@pytest.mark.parametrize("name", ATTACKS, ids=str)
def test_attack(name):
    make, message = ATTACKS[name]
    contents = make()
    start = time.perf_counter()
    with pytest.raises(ArchiveError) as e:
        archive = read_archive(contents)
        archive.importer.constants()
    assert message in str(e.value) and e.value.help
    assert time.perf_counter() - start < 5


def test_nested_lists_stay_as_small_as_they_are_written():
    """Each list holds the list before ten times; walking all paths would never end."""
    contents = programs.data(b"\x80\x02" + programs.laughs() + b"(" + b"h\x1et.")
    with pytest.raises(ArchiveError):
        read_archive(contents)


def test_memory_stays_in_proportion():
    tracemalloc.start()
    for make, _ in ATTACKS.values():
        contents = make()
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        with pytest.raises(ArchiveError):
            archive = read_archive(contents)
            archive.importer.constants()
        assert tracemalloc.get_traced_memory()[1] - before < MEMORY
    tracemalloc.stop()


def test_setstate_does_not_run_while_reading(tmp_path):
    """The body would not even compile; reading only takes its signature."""
    code = (
        b"class M(Module):\n  x : int\n"
        b"  def __setstate__(self: __torch__.M, s: int) -> NoneType:\n"
        b"    ops.evil.run(s)\n    return None\n"
    )
    archive = read_archive(
        zipped(
            {
                "m/version": b"3",
                "m/data.pkl": b"\x80\x02c__torch__\nM\n)\x81K\x05b.",
                "m/code/__torch__.py": code,
            }
        )
    )
    assert [p.state for p in archive.pending] == [5] and archive.root.slots == [None]
    assert not archive.root.type.methods["__setstate__"].is_defined


def load_fully(contents: bytes) -> None:
    """Read an archive and compile everything in it."""
    archive = read_archive(contents, check_all=True)
    archive.importer.constants()
    for t in list(archive.importer.types.values()):
        if isinstance(t, T.ClassType):
            for method in t.methods.values():
                method.graph


def survives(contents: bytes) -> bool:
    """Whether it loads; every failure has to be one of ours."""
    try:
        load_fully(contents)
    except ScriptError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("name", ["serialization/attributes.pt", "counter.script.pt"])
def test_every_truncation_is_refused(name):
    contents = (DATA / name).read_bytes()
    for size in range(len(contents)):
        with pytest.raises(ArchiveError):
            read_archive(contents[:size])


def test_truncations_are_refused():
    contents = zips.VICTIM
    for size in range(0, len(contents), 97):
        with pytest.raises(ArchiveError):
            read_archive(contents[:size])


def mutated(contents: bytes, random: random.Random) -> bytes:
    """A few bytes changed, removed, doubled or swapped with another place."""
    data = bytearray(contents)
    for _ in range(random.randint(1, 4)):
        at, size = random.randrange(max(len(data), 1)), random.choice((1, 1, 1, 2, 4, 8, 40))
        kind = random.randrange(5)
        if kind == 0:
            data[at : at + 1] = bytes(b ^ 1 << random.randrange(8) for b in data[at : at + 1])
        elif kind == 1:
            data[at : at + size] = random.randbytes(size)
        elif kind == 2:
            del data[at : at + size]
        elif kind == 3:
            data[at:at] = data[at : at + size]
        else:
            data[at : at + 4] = random.choice(
                (b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff")
            )
    return bytes(data)


SMALL = [
    DATA / "serialization" / "attributes.pt",
    DATA / "serialization" / "language.pt",
    DATA / "counter.script.pt",
]


def mutate_files(seed: int, count: int) -> None:
    """Mutations of whole files: most end at a checksum."""
    rng = random.Random(seed)
    for _ in range(count):
        survives(mutated(rng.choice(SMALL).read_bytes(), rng))


def mutate_records(seed: int, count: int) -> None:
    """Mutations of one record, packed again with right checksums: these reach every reader."""
    from tests.serialization.archives import records

    rng = random.Random(seed)
    parts = [records(path.read_bytes()) for path in SMALL]
    for _ in range(count):
        chosen = dict(rng.choice(parts))
        name = rng.choice([n for n in chosen if chosen[n]])
        chosen[name] = mutated(chosen[name], rng)
        survives(zipped(chosen))


def test_mutations():
    mutate_files(1, 150)
    mutate_records(2, 150)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(50))
def test_many_mutations(seed):
    mutate_files(seed, 1000)
    mutate_records(1000 + seed, 1000)


@pytest.mark.slow
def test_random_pickles():
    rng = random.Random(7)
    opcodes = bytes(set(b"\x80\x02(N\x88\x89KMJ\x8aGX)]}\x85\x86\x87tueasqhcR\x81bQ."))
    for _ in range(20000):
        contents = b"\x80\x02" + bytes(rng.choice(opcodes) for _ in range(rng.randint(1, 60)))
        try:
            unpickle(contents, "x")
        except ArchiveError:
            pass
