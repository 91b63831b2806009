"""Muon for the matrices: momentum, then the nearest orthogonal matrix by a Newton-Schulz iteration (Jordan et al., 2024)."""
import torch

COEFFICIENTS = (3.4445, -4.7750, 2.0315)


def orthogonalize(batch, steps=5):
    """[n, rows, cols] -> approximately orthogonal matrices with the same row and column spaces."""
    a, b, c = COEFFICIENTS
    x = batch.bfloat16()
    tall = x.shape[1] > x.shape[2]
    if tall:
        x = x.transpose(1, 2)
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(steps):
        gram = x @ x.transpose(1, 2)
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.transpose(1, 2) if tall else x


class Muon:
    """Steps groups of equally shaped matrices at once. One thread."""

    def __init__(self, parameters, momentum=0.95, weight_decay=0.1):
        groups = {}
        for parameter in parameters:
            groups.setdefault(tuple(parameter.shape), []).append(parameter)
        self.groups = list(groups.values())
        self.buffers = [torch.zeros(len(group), *group[0].shape, device=group[0].device) for group in self.groups]
        self.momentum, self.weight_decay = momentum, weight_decay
        self.update = torch.compile(self.compute, dynamic=False)

    def compute(self, gradients, buffer):
        buffer.lerp_(gradients, 1 - self.momentum)
        return orthogonalize(gradients.lerp(buffer, self.momentum)).float()

    @torch.no_grad()
    def warm_up(self):
        """Compiles the update for every shape."""
        for buffer in self.buffers:
            self.update(torch.ones_like(buffer), torch.zeros_like(buffer))

    @torch.no_grad()
    def step(self, learning_rate):
        for group, buffer in zip(self.groups, self.buffers):
            update = self.update(torch.stack([p.grad for p in group]), buffer)
            rows, cols = group[0].shape
            scale = learning_rate * max(1.0, rows / cols) ** 0.5
            torch._foreach_mul_(group, 1 - learning_rate * self.weight_decay)
            torch._foreach_add_(group, list(update.unbind(0)), alpha=-scale)
