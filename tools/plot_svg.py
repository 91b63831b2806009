#!/usr/bin/env python3
"""Draws points as an SVG with logarithmic axes, without any library.

  plot_svg.py --title T --x LABEL --y LABEL [--lines] -o OUT.svg < points

Each line of the input is "series x y"; lines that begin with # are left out. With --lines the points of a series are joined, without
them each point carries the name of its series.
"""
import argparse
import math
import sys
from html import escape

WIDTH, HEIGHT = 760, 460
LEFT, RIGHT, TOP, BOTTOM = 80, 150, 50, 60
COLORS = ["#1b6ca8", "#c8553d", "#3a7d44", "#7b4b94", "#b08900", "#4c4c4c", "#0f8b8d", "#a23b72", "#5f7adb"]


def read_points(stream):
    points = []
    for line in stream:
        if line.strip() and not line.startswith("#"):
            series, x, y = line.rsplit(maxsplit=2)
            points.append((series, float(x), float(y)))
    return points


def log_range(values):
    low, high = math.floor(math.log10(min(values)) * 4) / 4, math.ceil(math.log10(max(values)) * 4) / 4
    return low, high if high > low else low + 0.25


def ticks(low, high):
    for exponent in range(math.floor(low), math.ceil(high) + 1):
        for factor in (1, 2, 5):
            position = exponent + math.log10(factor)
            if low <= position <= high:
                yield position, factor * 10.0**exponent


def text_of(value):
    return f"{value:g}" if 1e-3 <= value < 1e6 else f"{value:.0e}"


class Plot:
    def __init__(self, points):
        self.x_low, self.x_high = log_range([p[1] for p in points])
        self.y_low, self.y_high = log_range([p[2] for p in points])
        self.parts = []

    def x(self, value):
        return LEFT + (math.log10(value) - self.x_low) / (self.x_high - self.x_low) * (WIDTH - LEFT - RIGHT)

    def y(self, value):
        return HEIGHT - BOTTOM - (math.log10(value) - self.y_low) / (self.y_high - self.y_low) * (HEIGHT - TOP - BOTTOM)

    def text(self, x, y, text, anchor="middle", extra=""):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {extra}>{escape(text)}</text>')

    def axes(self, title, x_label, y_label):
        for _, value in ticks(self.x_low, self.x_high):
            x = self.x(value)
            self.parts.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}" stroke="#ddd"/>')
            self.text(x, HEIGHT - BOTTOM + 18, text_of(value))
        for _, value in ticks(self.y_low, self.y_high):
            y = self.y(value)
            self.parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#ddd"/>')
            self.text(LEFT - 8, y + 4, text_of(value), "end")
        self.text((LEFT + WIDTH - RIGHT) / 2, 26, title, extra='font-size="15"')
        self.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16, x_label)
        middle = (TOP + HEIGHT - BOTTOM) / 2
        self.text(18, middle, y_label, extra=f'transform="rotate(-90 18 {middle:.1f})"')

    def series(self, points, lines):
        names = list(dict.fromkeys(p[0] for p in points))
        for index, name in enumerate(names):
            color = COLORS[index % len(COLORS)]
            own = [(self.x(x), self.y(y)) for series, x, y in points if series == name]
            if lines:
                path = " ".join(f"{x:.1f},{y:.1f}" for x, y in own)
                self.parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
            for x, y in own:
                self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{color}"/>')
            x, y = own[-1]
            self.text(x + 8, y + 4, name, "start", f'fill="{color}"')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--title", required=True)
    parser.add_argument("--x", required=True)
    parser.add_argument("--y", required=True)
    parser.add_argument("--lines", action="store_true")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    points = read_points(sys.stdin)
    if not points:
        sys.exit("plot_svg: no points on standard input")
    plot = Plot(points)
    plot.axes(arguments.title, arguments.x, arguments.y)
    plot.series(points, arguments.lines)
    body = "\n".join(plot.parts)
    with open(arguments.output, "w", encoding="utf-8") as out:
        out.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
                  f'font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n')


if __name__ == "__main__":
    main()
