"""AdamW as every strategy that tunes an encoder uses it: fused, with no decay of biases and norms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

BETAS = (0.9, 0.999)
EPS = 1e-6
"""As BERT was trained and fine-tuned with; torch's own default is 1e-8."""

_LONG_AGO = 1e6
"""A step where 0.999^t is 0 in double precision, and t + 1 still exact in float32."""


@dataclass(frozen=True)
class Pull:
    """The penalty strength / 2 * (w - centre)^2 on a weight, by component.

    Attributes:
        strength: not negative, and finite.
    """

    centre: Tensor
    strength: Tensor


@dataclass(frozen=True)
class Block:
    """Weights that are trained at one rate and watched as one.

    Attributes:
        name: as traces show it: `embeddings`, `layer.0`, …, `head`.
        parameters: by names that are unique in the block.
        lr_scale: its learning rate over the schedule's.
        pulls: penalties on some of the parameters, by name.
    """

    name: str
    parameters: Mapping[str, nn.Parameter]
    lr_scale: float = 1.0
    pulls: Mapping[str, Pull] = field(default_factory=dict)


def adamw(blocks: Sequence[Block], *, weight_decay: float, bias_correction: bool = True) -> torch.optim.AdamW:
    """Loshchilov and Hutter, "Decoupled Weight Decay Regularization", ICLR 2019, algorithm 2. `set_lr` before a step.

    Args:
        bias_correction: False leaves out the factors 1 / (1 - beta^t), as BERT's own optimiser did: Mosbach et al.,
            ICLR 2021, find that this makes runs fail. torch has no switch for it, but an optimiser that takes itself
            to be at step one million has factors of exactly 1.
    """
    groups = []
    for block in blocks:
        matrices = [weight for weight in block.parameters.values() if weight.ndim > 1]
        others = [weight for weight in block.parameters.values() if weight.ndim <= 1]
        for chosen, decay in ((matrices, weight_decay), (others, 0.0)):
            if chosen:
                groups.append({"params": chosen, "weight_decay": decay, "lr_scale": block.lr_scale})
    optimizer = torch.optim.AdamW(groups, lr=0.0, betas=BETAS, eps=EPS, fused=True)
    if not bias_correction:
        for weight in (weight for block in blocks for weight in block.parameters.values()):
            optimizer.state[weight] = {
                "step": torch.tensor(_LONG_AGO, device=weight.device),
                "exp_avg": torch.zeros_like(weight),
                "exp_avg_sq": torch.zeros_like(weight),
            }
    pulls = {block.parameters[name]: pull for block in blocks for name, pull in block.pulls.items()}
    if pulls:
        optimizer.register_step_post_hook(lambda *_: _pull_back(optimizer, pulls))
    return optimizer


@torch.no_grad()
def _pull_back(optimizer: torch.optim.AdamW, pulls: Mapping[nn.Parameter, Pull]) -> None:
    """After a step by the gradient of all else: the proximal step of the penalties, in the metric of that step.

    AdamW divides a gradient by d = sqrt(v) + eps. Where it has left a weight at w', strength / 2 * (w - centre)^2 +
    d / (2 lr) * (w - w')^2 is least at the share 1 / (1 + d / (lr * strength)) of the way from w' to the centre. This
    comes to rest where the gradients of loss and penalty cancel. In the loss itself a strong penalty would take all of
    the clipped gradient, and as AdamW makes all gradients equally large, it would shake each weight by lr.
    """
    for group in optimizer.param_groups:
        for weight in group["params"]:
            pull, state = pulls.get(weight), optimizer.state[weight]
            if pull is not None and state:  # a weight without a gradient has not moved
                corrected: Any = 1 - BETAS[1] ** state["step"].item()
                divisor = (state["exp_avg_sq"] / corrected).sqrt_().add_(EPS)
                share = 1 / (1 + divisor / (group["lr"] * pull.strength))
                weight.lerp_(pull.centre, share)


def set_lr(optimizer: torch.optim.AdamW, lr: float) -> None:
    """The rate of the next step, in each block by its scale."""
    for group in optimizer.param_groups:
        group["lr"] = lr * group["lr_scale"]
