"""Programs without tensors as users write them: text, tokens, sorting, graphs, small classes.

The same text runs in CPython and, scripted, everywhere else.
"""

from __future__ import annotations

from typing import Dict, List, Tuple


def pair_merges(n: int) -> int:
    """Byte pair merges by rank."""
    ranks: Dict[str, int] = {}
    merges = ["t h", "th e", "i n", "a n", "an d", "in g", "e r", "o n", "r e", "s t", "e n", "q u"]
    for i, m in enumerate(merges):
        ranks[m] = i
    vocabulary: Dict[str, int] = {}
    total = 0
    text = "the king and the queen ran on strings in the north and the rest went quietly on"
    for _ in range(n):
        for word in text.split(" "):
            parts: List[str] = []
            for c in word:
                parts.append(c)
            while len(parts) > 1:
                best = -1
                best_rank = 1000000
                for i in range(len(parts) - 1):
                    pair = parts[i] + " " + parts[i + 1]
                    if pair in ranks:
                        rank = ranks[pair]
                        if rank < best_rank:
                            best_rank = rank
                            best = i
                if best < 0:
                    break
                merged: List[str] = []
                i = 0
                while i < len(parts):
                    if i == best:
                        merged.append(parts[i] + parts[i + 1])
                        i += 2
                    else:
                        merged.append(parts[i])
                        i += 1
                parts = merged
            for part in parts:
                if part not in vocabulary:
                    vocabulary[part] = len(vocabulary)
                total += vocabulary[part]
    return total


def word_pieces(n: int) -> int:
    """WordPiece: the longest prefixes that are in a vocabulary, with ## for what follows."""
    vocabulary: Dict[str, int] = {}
    for i, w in enumerate(["un", "##aff", "##able", "the", "run", "##ning", "##s", "a", "##b"]):
        vocabulary[w] = i
    ids: List[int] = []
    words = ["unaffable", "the", "running", "runs", "ab", "xyz"]
    for k in range(n):
        word = words[k % 6]
        start = 0
        pieces: List[int] = []
        bad = False
        while start < len(word):
            end = len(word)
            found = -1
            while start < end:
                sub = word[start:end]
                if start > 0:
                    sub = "##" + sub
                if sub in vocabulary:
                    found = vocabulary[sub]
                    break
                end -= 1
            if found < 0:
                bad = True
                break
            pieces.append(found)
            start = end
        if bad:
            ids.append(-1)
        else:
            ids.extend(pieces)
    return len(ids) + sum(ids)


def lines(n: int) -> int:
    """strip, split, replace, find, startswith, upper, join, format."""
    total = 0
    for i in range(n):
        line = "  key" + str(i % 10) + " = value number " + str(i) + "  "
        line = line.strip()
        if line.startswith("key"):
            total += 1
        at = line.find("=")
        name = line[:at].strip()
        value = line[at + 1 :].strip()
        words = value.split(" ")
        total += len(words) + len(name)
        joined = "-".join(words).upper()
        if joined.endswith("7"):
            total += 2
        total += len(joined.replace("NUMBER", "no"))
        total += joined.count("E")
    return total


def formats(n: int) -> int:
    """f-strings and format."""
    total = 0
    for i in range(n):
        a = f"{i}:{i * 2}"
        b = "{} of {}".format(i, n)
        total += len(a) + len(b)
    return total


def fields(n: int) -> float:
    """Lines of numbers, parsed."""
    lines: List[str] = []
    for i in range(n):
        lines.append(str(i) + "," + str(i * 0.5) + "," + str(i % 3) + ",name" + str(i % 5))
    text = "\n".join(lines)
    total = 0.0
    names: Dict[str, float] = {}
    for line in text.split("\n"):
        fields = line.split(",")
        value = float(fields[1]) * int(fields[2])
        total += value
        names[fields[3]] = names.get(fields[3], 0.0) + value
    return total + len(names)


def cipher(n: int) -> int:
    """Text character by character: ord, chr, build."""
    text = "the quick brown fox jumps over the lazy dog"
    total = 0
    for k in range(n):
        out = ""
        for c in text:
            if "a" <= c and c <= "z":
                out += chr((ord(c) - 97 + k) % 26 + 97)
            else:
                out += c
        total += len(out)
        text = out
    return total


def sorting(n: int) -> int:
    """Sorts, of ints, strings and tuples."""
    numbers: List[int] = []
    names: List[str] = []
    pairs: List[Tuple[int, str]] = []
    seed = 1
    for _ in range(n):
        seed = seed * 1103515245 % 2147483648 + 12345
        numbers.append(seed % 1000)
        names.append(str(seed % 977))
        pairs.append((seed % 31, str(seed % 97)))
    numbers.sort()
    names.sort()
    pairs.sort()
    total = 0
    for i in sorted(numbers):
        total = total * 31 % 1000003 + i
    for name in names:
        total += len(name)
    for a, b in pairs:
        total = (total * 7 + a + len(b)) % 1000003
    return total


def prefix_search(n: int) -> float:
    """CTC prefix beam search with a dict of strings to pairs of floats."""
    beams: Dict[str, Tuple[float, float]] = {"": (1.0, 0.0)}
    for t in range(n):
        fresh: Dict[str, Tuple[float, float]] = {}
        for prefix, scores in beams.items():
            blank, ends = scores
            for k in range(4):
                p = float((t * 7 + k * 3 + len(prefix)) % 11 + 1) / 12.0
                if k == 0:
                    b, e = fresh.get(prefix, (0.0, 0.0))
                    fresh[prefix] = (b + (blank + ends) * p, e)
                else:
                    c = "_abc"[k]
                    longer = prefix + c
                    b, e = fresh.get(longer, (0.0, 0.0))
                    if len(prefix) > 0 and prefix[-1] == c:
                        fresh[longer] = (b, e + blank * p)
                        b2, e2 = fresh.get(prefix, (0.0, 0.0))
                        fresh[prefix] = (b2, e2 + ends * p)
                    else:
                        fresh[longer] = (b, e + (blank + ends) * p)
        best: List[Tuple[float, str]] = []
        for prefix, scores in fresh.items():
            best.append((scores[0] + scores[1], prefix))
        best.sort(reverse=True)
        kept: Dict[str, Tuple[float, float]] = {}
        total = 0.0
        for score, prefix in best[:8]:
            total += score
        for score, prefix in best[:8]:
            b, e = fresh[prefix]
            kept[prefix] = (b / total, e / total)
        beams = kept
    score = 0.0
    for prefix, scores in beams.items():
        score += scores[0] + scores[1]
    return score


def breadth_first(n: int) -> int:
    """Breadth first search of a graph: dict of lists of ints."""
    edges: Dict[int, List[int]] = {}
    for i in range(n):
        edges[i] = [(i * 7 + 1) % n, (i * 3 + 2) % n, (i + 5) % n]
    distance: Dict[int, int] = {0: 0}
    queue = [0]
    head = 0
    while head < len(queue):
        node = queue[head]
        head += 1
        for other in edges[node]:
            if other not in distance:
                distance[other] = distance[node] + 1
                queue.append(other)
    total = 0
    for node in queue:
        total += distance[node]
    return total


def groups(n: int) -> int:
    """Groups by a key."""
    by_key: Dict[int, List[int]] = {}
    for i in range(n):
        key = i * i % 37
        if key not in by_key:
            fresh: List[int] = []
            by_key[key] = fresh
        by_key[key].append(i)
    total = 0
    for key, items in by_key.items():
        total += key * len(items)
        for item in items:
            total += item % 3
    return total


class Stack:
    """Numbers, the last first."""

    def __init__(self) -> None:
        self.items: List[int] = []

    def push(self, x: int) -> None:
        self.items.append(x)

    def pop(self) -> int:
        return self.items.pop()

    def empty(self) -> bool:
        return len(self.items) == 0


def stack_machine(n: int) -> int:
    """A class with a list, an interpreter for a little language."""
    program = ["push", "1", "push", "2", "add", "push", "3", "mul", "dup", "add"]
    stack = Stack()
    for _ in range(n):
        stack.push(1)
        i = 0
        while i < len(program):
            op = program[i]
            if op == "push":
                i += 1
                stack.push(int(program[i]))
            elif op == "add":
                stack.push(stack.pop() + stack.pop())
            elif op == "mul":
                stack.push(stack.pop() * stack.pop() % 1000)
            elif op == "dup":
                x = stack.pop()
                stack.push(x)
                stack.push(x)
            i += 1
        stack.push((stack.pop() + stack.pop()) % 1000)
        while len(stack.items) > 1:
            stack.pop()
    return stack.pop()


def quick_sort(items: List[int], low: int, high: int) -> None:
    """Sorts a part of a list by exchanges around a pivot."""
    if low >= high:
        return
    pivot = items[(low + high) // 2]
    i = low
    j = high
    while i <= j:
        while items[i] < pivot:
            i += 1
        while items[j] > pivot:
            j -= 1
        if i <= j:
            items[i], items[j] = items[j], items[i]
            i += 1
            j -= 1
    quick_sort(items, low, j)
    quick_sort(items, i, high)


def median(n: int) -> int:
    """The middle of n numbers, sorted by a function that calls itself."""
    items: List[int] = []
    seed = 1
    for _ in range(n):
        seed = seed * 1103515245 % 2147483648 + 12345
        items.append(seed % 10007)
    quick_sort(items, 0, n - 1)
    return items[n // 2]
