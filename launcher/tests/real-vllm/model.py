"""Writes a small model of Llama's architecture with random weights, and a tokenizer: model.py TOKENIZER FOLDER"""

import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

tokenizer_file, folder = sys.argv[1:]
special = "<|begin_of_text|>"
tokenizer = PreTrainedTokenizerFast(tokenizer_file=tokenizer_file, bos_token=special, eos_token=special)
torch.manual_seed(1)
config = LlamaConfig(
    # The ids of synthetic prompts are below 32,000.
    vocab_size=32768,
    hidden_size=64,
    intermediate_size=128,
    num_hidden_layers=2,
    num_attention_heads=2,
    num_key_value_heads=2,
    head_dim=32,
    max_position_embeddings=2048,
    bos_token_id=tokenizer.bos_token_id,
    eos_token_id=tokenizer.eos_token_id,
)
LlamaForCausalLM(config).save_pretrained(folder)
tokenizer.save_pretrained(folder)
