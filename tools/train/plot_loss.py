#!/usr/bin/env python3
"""Draws the loss curves of a training log as SVG. Standard library only.

Usage: plot_loss.py LOG.jsonl OUT.svg
"""
import json
import sys

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 860, 460, 60, 50, 20, 150
COLOURS = ["#222222", "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#17becf", "#7f7f7f"]


def series(path):
    """{name: [(million tokens, loss)]}: the training loss and each held-out part."""
    out, per_step = {"training": []}, 0
    with open(path, encoding="utf-8") as f:
        for line in f:
            entry = json.loads(line)
            if "loss" in entry:
                per_step = entry["tokens"] / entry["step"]
                out["training"].append((entry["tokens"] / 1e6, entry["loss"]))
            for name, loss in entry.get("valid", {}).items():
                out.setdefault(name, []).append((entry["step"] * per_step / 1e6, loss))
    return out


def line(x1, y1, x2, y2, colour, width=1):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"/>'


def label(x, y, content, anchor="middle", colour="#222222"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{content}</text>'


def main():
    curves = series(sys.argv[1])
    last = max(point[0] for points in curves.values() for point in points)
    top = 6.0

    def place(tokens, loss):
        x = LEFT + tokens / last * (WIDTH - LEFT - RIGHT)
        return x, HEIGHT - BOTTOM - min(loss, top) / top * (HEIGHT - BOTTOM - TOP)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for loss in range(int(top) + 1):
        x, y = place(0, loss)
        parts += [line(x, y, WIDTH - RIGHT, y, "#dddddd"), label(x - 8, y + 4, str(loss), "end")]
    step = 50 if last < 600 else 100
    for tokens in range(0, int(last) + 1, step):
        x, y = place(tokens, 0)
        parts += [line(x, y, x, y + 4, "#222222"), label(x, y + 18, str(tokens))]
    parts += [label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, "million tokens"),
              label(LEFT, TOP - 6, "loss, nats a token (training loss is weighted, with dropout and noise)", "start")]
    for index, (name, points) in enumerate(curves.items()):
        colour = COLOURS[index % len(COLOURS)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in points))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{1 if index == 0 else 2}"/>')
        parts.append(label(WIDTH - RIGHT + 12, TOP + 20 + 20 * index, f"{name} {points[-1][1]:.2f}", "start", colour))
    parts.append("</svg>")
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        f.write("\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
