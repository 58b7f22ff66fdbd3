"""What programs do around their networks, without tensors: decoding, boxes, tokens, queues.

The same text runs in CPython and, scripted, everywhere else.
"""

from __future__ import annotations

from typing import Dict, List, Tuple


def greedy_tokens(n: int) -> int:
    """Greedy CTC decoding: repeats collapse, blanks go."""
    frames: List[List[float]] = []
    seed = 7
    for t in range(n):
        row: List[float] = []
        for k in range(12):
            seed = seed * 1103515245 % 2147483648 + 12345
            row.append(float(seed % 1000) / 1000.0)
        frames.append(row)
    tokens: List[int] = []
    last = -1
    for row in frames:
        best = 0
        score = row[0]
        for k, p in enumerate(row):
            if p > score:
                best = k
                score = p
        if best != last and best != 0:
            tokens.append(best)
        last = best
    text = ""
    alphabet = "_abcdefghijk"
    for token in tokens:
        text += alphabet[token]
    return len(text) + len(tokens)


def beam_search(n: int) -> float:
    """Beam search of width 4 over a made-up language of 6 tokens."""
    beams: List[Tuple[float, List[int]]] = [(0.0, [0])]
    for step in range(n):
        candidates: List[Tuple[float, List[int]]] = []
        for score, tokens in beams:
            last = tokens[-1]
            for token in range(6):
                cost = float((last * 7 + token * 3 + step) % 11) * 0.1
                candidates.append((score - cost, tokens + [token]))
        kept: List[Tuple[float, List[int]]] = []
        for _ in range(4):
            best = -1
            best_score = -1e30
            for i in range(len(candidates)):
                if candidates[i][0] > best_score:
                    best = i
                    best_score = candidates[i][0]
            kept.append(candidates[best])
            candidates.pop(best)
        beams = kept
    return beams[0][0]


def overlap(a: List[float], b: List[float]) -> float:
    """Intersection over union of two boxes."""
    left = max(a[0], b[0])
    top = max(a[1], b[1])
    right = min(a[2], b[2])
    bottom = min(a[3], b[3])
    if right <= left or bottom <= top:
        return 0.0
    common = (right - left) * (bottom - top)
    return common / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common)


def suppression(n: int) -> int:
    """Non-maximum suppression of n boxes, lists of floats."""
    boxes: List[List[float]] = []
    scores: List[float] = []
    seed = 3
    for _ in range(n):
        seed = (seed * 1103515245 + 12345) % 2147483648
        x = float(seed % 97)
        y = float(seed // 97 % 89)
        boxes.append([x, y, x + 20.0, y + 20.0])
        scores.append(float(seed % 1009) / 1009.0)
    order = [i for i in range(n)]
    for i in range(1, n):
        j = i
        while j > 0 and scores[order[j - 1]] < scores[order[j]]:
            order[j - 1], order[j] = order[j], order[j - 1]
            j -= 1
    kept: List[int] = []
    for i in order:
        good = True
        for k in kept:
            if overlap(boxes[i], boxes[k]) > 0.3:
                good = False
                break
        if good:
            kept.append(i)
    return len(kept)


def tokenizer(n: int) -> int:
    """Longest match first: substrings looked up in a dict."""
    names = ["un", "break", "able", "ing", "re", "start", "ed", "s", "er", "a", "b", "e", "k"]
    vocabulary: Dict[str, int] = {}
    for i, name in enumerate(names):
        vocabulary[name] = i
    text = ""
    for i in range(n):
        text += names[i * i % 8] + names[(i * 5 + 1) % 8]
    ids: List[int] = []
    start = 0
    while start < len(text):
        end = min(start + 5, len(text))
        while end > start:
            piece = text[start:end]
            if piece in vocabulary:
                ids.append(vocabulary[piece])
                break
            end -= 1
        if end == start:
            ids.append(-1)
            end = start + 1
        start = end
    return len(ids)


def edit_distance(n: int) -> int:
    """Levenshtein's distance of two words of n characters."""
    a = ""
    b = ""
    for i in range(n):
        a += "abc"[i % 3]
        b += "acb"[(i * i) % 3]
    row = [j for j in range(len(b) + 1)]
    for i in range(len(a)):
        previous = row[0]
        row[0] = i + 1
        for j in range(len(b)):
            cost = previous if a[i] == b[j] else previous + 1
            previous = row[j + 1]
            row[j + 1] = min(cost, min(row[j] + 1, previous + 1))
    return row[-1]


def prefix_sums(n: int) -> int:
    """Sums of ranges by prefix sums, in two dimensions."""
    sums: List[List[int]] = [[0 for _ in range(n + 1)]]
    for i in range(n):
        row = [0]
        total = 0
        for j in range(n):
            total += (i * j) % 7
            row.append(sums[i][j + 1] + total)
        sums.append(row)
    best = 0
    for i in range(n - 3):
        for j in range(n - 3):
            here = sums[i + 3][j + 3] - sums[i][j + 3] - sums[i + 3][j] + sums[i][j]
            if here > best:
                best = here
    return best


def push(heap: List[Tuple[int, int]], item: Tuple[int, int]) -> None:
    """Puts an item into a heap by its first number."""
    heap.append(item)
    i = len(heap) - 1
    while i > 0:
        parent = (i - 1) // 2
        if heap[parent][0] <= item[0]:
            break
        heap[i] = heap[parent]
        i = parent
    heap[i] = item


def pop(heap: List[Tuple[int, int]]) -> Tuple[int, int]:
    """Takes the least item out of a heap."""
    top = heap[0]
    last = heap.pop()
    n = len(heap)
    if n > 0:
        i = 0
        while 2 * i + 1 < n:
            child = 2 * i + 1
            if child + 1 < n and heap[child + 1][0] < heap[child][0]:
                child += 1
            if heap[child][0] >= last[0]:
                break
            heap[i] = heap[child]
            i = child
        heap[i] = last
    return top


def shortest_paths(n: int) -> int:
    """Dijkstra's algorithm with a priority queue on a list of tuples."""
    distance: List[int] = []
    for _ in range(n):
        distance.append(1000000)
    distance[0] = 0
    heap: List[Tuple[int, int]] = [(0, 0)]
    while len(heap) > 0:
        d, node = pop(heap)
        if d > distance[node]:
            continue
        for k in range(4):
            other = (node * (k + 2) + 7 * k + 1) % n
            there = d + (node * 31 + k * 17) % 23 + 1
            if there < distance[other]:
                distance[other] = there
                push(heap, (there, other))
    total = 0
    for d in distance:
        total += d
    return total


def matrix_chain(n: int) -> int:
    """The cheapest order of a product of n matrices."""
    sizes = [(i * 37) % 29 + 5 for i in range(n + 1)]
    cost: List[List[int]] = []
    for i in range(n):
        cost.append([0 for _ in range(n)])
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            best = 1 << 60
            for k in range(i, j):
                here = cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                if here < best:
                    best = here
            cost[i][j] = best
    return cost[0][n - 1]


def run_lengths(n: int) -> int:
    """Run-length coding of a string, and back."""
    text = ""
    for i in range(n):
        text += "aaaa"[: i % 4] + "bbbb"[: i % 3 + 1]
    runs: List[Tuple[str, int]] = []
    i = 0
    while i < len(text):
        j = i
        while j < len(text) and text[j] == text[i]:
            j += 1
        runs.append((text[i], j - i))
        i = j
    coded = ""
    for letter, count in runs:
        coded += letter + str(count)
    back = ""
    for letter, count in runs:
        for _ in range(count):
            back += letter
    return len(coded) + (1 if back == text else 0)


def bigrams(n: int) -> int:
    """Counts of pairs of letters."""
    text = ""
    for i in range(n):
        text += "abcdefgh"[(i * i + 3 * i) % 8]
    counts: Dict[str, int] = {}
    for i in range(len(text) - 1):
        pair = text[i] + text[i + 1]
        if pair in counts:
            counts[pair] += 1
        else:
            counts[pair] = 1
    most = 0
    for pair in counts:
        if counts[pair] > most:
            most = counts[pair]
    return most


def spans(n: int) -> int:
    """A dict whose values are tuples: first and last place of each key."""
    seen: Dict[int, Tuple[int, int]] = {}
    for i in range(n):
        key = i * 31 % 57
        if key in seen:
            first, last = seen[key]
            seen[key] = (first, i)
        else:
            seen[key] = (i, i)
    widest = 0
    for key, span in seen.items():
        first, last = span
        if last - first > widest:
            widest = last - first
    return widest


def characters(n: int) -> int:
    """Classes of characters, one at a time."""
    text = ""
    for _ in range(n):
        text += "The quick brown fox, 1234 and 56 jumps!"
    letters = 0
    digits = 0
    spaces = 0
    for c in text:
        if c.isdigit():
            digits += 1
        elif c == " ":
            spaces += 1
        elif "a" <= c and c <= "z":
            letters += 1
    value = 0
    for c in text:
        value = (value * 31 + ord(c)) % 1000003
    return letters + digits * 7 + spaces * 11 + value


def hanoi(n: int, a: int, b: int, c: int) -> int:
    """Moves of a tower of n discs, by two calls each."""
    if n == 0:
        return 0
    return hanoi(n - 1, a, c, b) + 1 + hanoi(n - 1, c, b, a)
