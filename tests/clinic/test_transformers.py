"""Layers of the transformers library itself, made small: right, by steps and fused."""

import pytest
import torch

import mha_lib as mha

pytest.importorskip("transformers", reason="transformers is not installed: make setup installs it")


@pytest.mark.parametrize("way", ["eager", "sdpa"])
@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_a_real_layer_is_right(kind, way):
    from transformers import BertConfig, GPT2Config
    from transformers.models.bert.modeling_bert import BertSelfAttention
    from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

    bert = kind == "bert"
    config = BertConfig(hidden_size=12, num_attention_heads=3) if bert else GPT2Config(n_embd=12, n_head=3)
    config._attn_implementation = way
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layer = BertSelfAttention(config) if bert else GPT2Attention(config, layer_idx=0)
    found = mha.diagnose(layer)
    assert found.name == "right" and "attention_mask" in found.message, found
