"""Many of PyTorch's own, Triton's, cuBLAS' and cuDNN's kernels, on one stream: nothing here is unordered.

Optimizers over lists of tensors, convolution, attention, recurrence, sort, scatter, embedding, FFT, factorisations.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import parts


def transformer(device: torch.device) -> None:
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        layer = torch.nn.TransformerEncoderLayer(256, 8, 512, batch_first=True, device=device, dtype=dtype)
        layer(torch.randn(4, 64, 256, device=device, dtype=dtype)).square().mean().backward()


def attention(device: torch.device) -> None:
    for backend in (SDPBackend.MATH, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION):
        q, k, v = (torch.randn(2, 4, 256, 64, device=device, dtype=torch.bfloat16, requires_grad=True) for _ in "qkv")
        with sdpa_kernel(backend):
            F.scaled_dot_product_attention(q, k, v, is_causal=True).sum().backward()


def convolution(device: torch.device) -> None:
    for memory in (torch.contiguous_format, torch.channels_last):
        net = torch.nn.Sequential(
            torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(16, 32, 3, groups=2), torch.nn.GroupNorm(4, 32), torch.nn.AdaptiveAvgPool2d(1),
            torch.nn.ConvTranspose2d(32, 8, 4, stride=2),
        ).to(device, memory_format=memory)  # fmt: skip
        net(torch.randn(4, 3, 32, 32, device=device).to(memory_format=memory)).square().mean().backward()


def recurrence(device: torch.device) -> None:
    for kind in (torch.nn.LSTM, torch.nn.GRU):
        out, _ = kind(32, 64, 2, device=device)(torch.randn(10, 4, 32, device=device))
        out.sum().backward()


def optimizers(device: torch.device) -> None:
    kinds = (
        (torch.optim.AdamW, {"foreach": True}), (torch.optim.Adam, {"fused": True}), (torch.optim.AdamW, {"capturable": True}),
        (torch.optim.SGD, {"momentum": 0.9, "foreach": True}), (torch.optim.SGD, {"fused": True}),
        (torch.optim.RMSprop, {}), (torch.optim.Adagrad, {}), (torch.optim.NAdam, {}), (torch.optim.Adamax, {}),
    )  # fmt: skip
    for kind, options in kinds:
        net = torch.nn.Sequential(*(torch.nn.Linear(64, 64, device=device) for _ in range(6)))
        optimizer, scaler = kind(net.parameters(), lr=1e-3, **options), torch.amp.GradScaler()
        for _ in range(2):
            scaler.scale(net(torch.randn(8, 64, device=device)).square().mean()).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def indexing(device: torch.device) -> None:
    x = torch.randn(1000, 33, device=device)
    at = torch.randint(1000, (500,), device=device)
    x.sort(dim=0), x.flatten().unique(), x.topk(5), x.cumsum(0), x.cumprod(1), x.argmax(1), x.median(), x.kthvalue(3)
    x.index_add_(0, at, torch.ones(500, 33, device=device))
    x.scatter_add_(0, at[:, None].expand(500, 33), torch.ones(500, 33, device=device))
    x.gather(0, at[:, None].expand(500, 33)), x[at], x.index_select(1, at[:20] % 33), x[x > 0], x.nonzero(), x.histc(10)
    x[at] = 1.0
    x.index_put_((at,), torch.ones(33, device=device), accumulate=True)
    torch.bincount(at), torch.searchsorted(x[:, 0].sort().values, x[:, 1]), x.masked_fill(x > 1, 0), x.roll(3, 0), x.flip(0)
    torch.cat([x, x]), torch.stack([x, x]), x.t().contiguous(), torch.where(x > 0, x, -x), x.tril(), x.repeat(2, 2)
    x.logcumsumexp(0), x.std(0), x.var(1), x.norm(), x.logsumexp(1), x.softmax(0), x.bernoulli(0.5), torch.randperm(1000, device=device)


def embedding(device: torch.device) -> None:
    tokens = torch.randint(1000, (8, 32), device=device)
    for layer in (torch.nn.Embedding(1000, 64), torch.nn.EmbeddingBag(1000, 64, mode="mean")):
        out = layer.to(device)(tokens)
        (F.dropout(F.layer_norm(out, (64,)), 0.1) + F.gelu(out)).sum().backward()
    logits = torch.randn(64, 1000, device=device, requires_grad=True)
    F.cross_entropy(logits, torch.randint(1000, (64,), device=device)).backward()
    speech = torch.randn(50, 4, 20, device=device).log_softmax(2).requires_grad_()
    lengths = torch.full((4,), 50), torch.full((4,), 10)
    F.ctc_loss(speech, torch.randint(1, 20, (4, 10), device=device), *lengths).backward()


def algebra(device: torch.device) -> None:
    for dtype in (torch.float32, torch.float64, torch.complex64):
        a = torch.randn(65, 65, device=device, dtype=dtype)
        spd = a @ a.mH + 65 * torch.eye(65, device=device, dtype=dtype)
        torch.linalg.cholesky(spd), torch.linalg.solve(spd, a), torch.linalg.svd(a), torch.linalg.qr(a), torch.linalg.eigh(spd)
    torch.fft.fft2(torch.randn(4, 64, 64, device=device)), torch.fft.rfft(torch.randn(1000, device=device))
    batch = torch.randn(8, 48, 48, device=device)
    torch.bmm(batch, batch), torch.baddbmm(batch, batch, batch), torch.einsum("bij,bjk->bk", batch, batch)
    for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.int8):
        a = torch.ones(64, 64, device=device, dtype=dtype)
        torch._int_mm(a, a) if dtype == torch.int8 else a @ a
    F.interpolate(torch.randn(1, 3, 16, 16, device=device), scale_factor=2, mode="bilinear")
    F.grid_sample(torch.randn(1, 3, 16, 16, device=device), torch.rand(1, 8, 8, 2, device=device), align_corners=False)


def compiled(device: torch.device) -> None:
    @torch.compile
    def block(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return (F.gelu(x @ weight) * x.sigmoid()).softmax(-1).cumsum(0).sum(0)

    weight = torch.randn(128, 128, device=device, requires_grad=True)
    block(torch.randn(64, 128, device=device), weight).sum().backward()


PARTS: tuple[Callable[[torch.device], None], ...] = (
    transformer, attention, convolution, recurrence, optimizers, indexing, embedding, algebra, compiled,
)  # fmt: skip


def main() -> None:
    options = parts.parser(__doc__ or "").parse_args()
    device = torch.device("cuda")
    for step in range(max(1, options.steps)):
        for part in PARTS:
            part(device)
        torch.cuda.synchronize()
        print(f"round {step}: {len(PARTS)} parts, {math.ceil(torch.cuda.max_memory_allocated() / 2**20)} MiB", flush=True)


if __name__ == "__main__":
    main()
