"""Finds the minimum cut of a network by Dinic's algorithm.

The flow from the source is increased along shortest paths with free capacity (found level by level)
until there are none. The nodes from which the sink is still reachable are then one side of a
minimum cut.
"""

from __future__ import annotations

from collections import deque

ENDLESS = 1 << 62
"""The capacity of an edge that no cut may contain."""


class Network:
    """A flow network. Nodes are numbered from 0; edges 2k and 2k + 1 are the reverse of each other.

    to, room: the target and the remaining capacity of each edge. edges: the edges leaving each
    node.
    """

    def __init__(self, nodes: int) -> None:
        self.edges: list[list[int]] = [[] for _ in range(nodes)]
        self.to: list[int] = []
        self.room: list[int] = []

    def connect(self, a: int, b: int, capacity: int) -> None:
        for start, end, room in ((a, b, capacity), (b, a, 0)):
            self.edges[start].append(len(self.to))
            self.to.append(end)
            self.room.append(room)

    def levels(self, source: int) -> list[int]:
        """The distance of each node from the source in edges with free capacity, or -1."""
        found = [-1] * len(self.edges)
        found[source] = 0
        pending = deque([source])
        while pending:
            node = pending.popleft()
            for edge in self.edges[node]:
                if self.room[edge] and found[self.to[edge]] < 0:
                    found[self.to[edge]] = found[node] + 1
                    pending.append(self.to[edge])
        return found

    def raise_flow(self, source: int, sink: int, levels: list[int]) -> int:
        """Send flow along paths that gain one level with each edge, until none is left."""
        total = 0
        tried = [0] * len(self.edges)  # the first edge of each node that may still lead to the sink
        way: list[int] = []
        node = source
        while True:
            if node == sink:
                amount = min(self.room[edge] for edge in way)
                for edge in way:
                    self.room[edge] -= amount
                    self.room[edge ^ 1] += amount
                total += amount
                way, node = [], source
                continue
            while tried[node] < len(self.edges[node]):
                edge = self.edges[node][tried[node]]
                if self.room[edge] and levels[self.to[edge]] == levels[node] + 1:
                    break
                tried[node] += 1
            else:
                if node == source:
                    return total
                levels[node] = -1  # no path to the sink leads through here
                node = self.to[way.pop() ^ 1]
                continue
            way.append(edge)
            node = self.to[edge]

    def smallest_cut(self, source: int, sink: int) -> tuple[int, list[bool]]:
        """Return (capacity of a minimum cut, for each node whether it is on the source's side).

        If there are several minimum cuts, it is the one closest to the sink.
        """
        total = 0
        while True:
            levels = self.levels(source)
            if levels[sink] < 0:
                reaches = self.reaching(sink)
                return total, [not found for found in reaches]
            total += self.raise_flow(source, sink, levels)

    def reaching(self, sink: int) -> list[bool]:
        """For each node whether a path with free capacity leads from it to the sink."""
        found = [False] * len(self.edges)
        found[sink] = True
        pending = [sink]
        while pending:
            for edge in self.edges[pending.pop()]:
                node = self.to[edge]
                if not found[node] and self.room[edge ^ 1]:
                    found[node] = True
                    pending.append(node)
        return found
