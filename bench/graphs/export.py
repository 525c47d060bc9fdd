#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Models as people export them: writes ONNX files of networks of torchvision and transformers, with random weights.

    python3 bench/graphs/export.py FOLDER [NAME ...]     needs torch; of each of the other two packages what is there
    v/bin/python bench/graphs/models.py FOLDER/*.onnx

Networks of images are whole; language models have two layers of 256 columns and a vocabulary of 1,000, so that files are small
and what is exported is all there: embeddings, masks, positions, caches. Written with torch 1.13, torchvision 0.14 (Debian 12)
and transformers 4.38; a model that a version does not have, or cannot export, is named and left out.
"""
import pathlib
import sys
import warnings

import torch

IMAGES = """alexnet convnext_tiny densenet121 efficientnet_b0 efficientnet_v2_s googlenet inception_v3 maxvit_t mnasnet0_5
mobilenet_v2 mobilenet_v3_large mobilenet_v3_small regnet_x_400mf regnet_y_400mf resnet18 resnext50_32x4d shufflenet_v2_x1_0
squeezenet1_1 swin_t vgg11_bn""".split()
SEGMENTATIONS = "deeplabv3_mobilenet_v3_large fcn_resnet50 lraspp_mobilenet_v3_large".split()

SIZES = {"hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 1024}
WORDS = {"vocab_size": 1000}
SHARED = {"num_key_value_heads": 2}  # by heads
#: Model, configuration, and its settings. Encoders read words and a mask.
ENCODERS = {
    "albert": ("AlbertModel", "AlbertConfig", {**WORDS, **SIZES}),
    "bert": ("BertModel", "BertConfig", {**WORDS, **SIZES}),
    "deberta": ("DebertaV2Model", "DebertaV2Config",
                {**WORDS, **SIZES, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}),
    "distilbert": ("DistilBertModel", "DistilBertConfig", {**WORDS, "dim": 256, "n_layers": 2, "n_heads": 4, "hidden_dim": 1024}),
    "electra": ("ElectraModel", "ElectraConfig", {**WORDS, **SIZES}),
    "funnel": ("FunnelBaseModel", "FunnelConfig",
               {**WORDS, "d_model": 256, "n_head": 4, "d_head": 64, "d_inner": 1024, "block_sizes": [1, 1]}),
    "mpnet": ("MPNetModel", "MPNetConfig", {**WORDS, **SIZES}),
    "roberta": ("RobertaModel", "RobertaConfig", {**WORDS, **SIZES}),
    "squeezebert": ("SqueezeBertModel", "SqueezeBertConfig", {**WORDS, **SIZES, "embedding_size": 256}),
    "t5": ("T5EncoderModel", "T5Config", {**WORDS, "d_model": 256, "d_kv": 64, "d_ff": 1024, "num_layers": 2, "num_heads": 4}),
}
DECODERS = {
    "bloom": ("BloomForCausalLM", "BloomConfig", {**WORDS, "hidden_size": 256, "n_layer": 2, "n_head": 4}),
    "falcon": ("FalconForCausalLM", "FalconConfig",
               {**WORDS, "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4}),
    "gemma": ("GemmaForCausalLM", "GemmaConfig", {**WORDS, **SIZES, "num_key_value_heads": 1, "head_dim": 64}),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", {**WORDS, "n_embd": 256, "n_layer": 2, "n_head": 4}),
    "gptneox": ("GPTNeoXForCausalLM", "GPTNeoXConfig", {**WORDS, **SIZES}),
    "llama": ("LlamaForCausalLM", "LlamaConfig", {**WORDS, **SIZES}),
    "mistral": ("MistralForCausalLM", "MistralConfig", {**WORDS, **SIZES, **SHARED}),
    "opt": ("OPTForCausalLM", "OPTConfig", {**WORDS, "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4,
                                            "ffn_dim": 1024, "word_embed_proj_dim": 256}),
    "phi": ("PhiForCausalLM", "PhiConfig", {**WORDS, **SIZES}),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", {**WORDS, **SIZES, **SHARED}),
}
#: Of images of 224 by 224, or of sound.
SEEING = {
    "beit": ("BeitModel", "BeitConfig", SIZES), "clip": ("CLIPVisionModel", "CLIPVisionConfig", SIZES),
    "dinov2": ("Dinov2Model", "Dinov2Config", {"hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4,
                                               "image_size": 224}),
    "levit": ("LevitModel", "LevitConfig", {}), "mobilevit": ("MobileViTModel", "MobileViTConfig", {}),
    "segformer": ("SegformerModel", "SegformerConfig", {}), "vit": ("ViTModel", "ViTConfig", SIZES),
}
HEARING = {"wav2vec2": ("Wav2Vec2Model", "Wav2Vec2Config", SIZES)}
NAMES = ["words", "mask"]  # of encoders' inputs
#: A decoder's next word, with keys and values of 63 before: heads that these have.
STEPS = {"gpt2": 4, "llama": 4}


class First(torch.nn.Module):
    """The first result, as a tensor."""

    def __init__(self, model, **options):
        super().__init__()
        self.model, self.options = model, options

    def forward(self, *inputs):
        found = self.model(*inputs, **self.options)
        return found["out"] if isinstance(found, dict) and "out" in found else found[0] if isinstance(found, tuple) else found


class Step(torch.nn.Module):
    """One word at a place, after keys and values of two layers: the result, and keys and values of all."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, word, place, *before):
        pairs = tuple((before[i], before[i + 1]) for i in range(0, len(before), 2))
        found = self.model(input_ids=word, position_ids=place, past_key_values=pairs, use_cache=True, return_dict=False)
        return (found[0], *(each for pair in found[1] for each in pair))


def networks():
    """Names, functions that make them, and their inputs."""
    image = torch.randn(1, 3, 224, 224)
    words, mask = torch.randint(0, 1000, (1, 32)), torch.ones(1, 32, dtype=torch.long)
    try:
        import torchvision  # pylint: disable=import-outside-toplevel
        for name in IMAGES:
            more = {"aux_logits": False, "init_weights": False} if name in ("googlenet", "inception_v3") else {}
            size = torch.randn(1, 3, 299, 299) if name == "inception_v3" else image
            yield name, lambda name=name, more=more: getattr(torchvision.models, name)(weights=None, **more), (size,)
        for name in SEGMENTATIONS:
            yield name, lambda name=name: First(getattr(torchvision.models.segmentation, name)(
                weights=None, weights_backbone=None)), (torch.randn(1, 3, 128, 128),)
    except ImportError:
        print("no torchvision: no networks of images")
    try:
        import transformers  # pylint: disable=import-outside-toplevel
    except ImportError:
        print("no transformers: no transformers")
        return

    def model(row):
        kind, configuration, settings = row
        return getattr(transformers, kind)(getattr(transformers, configuration)(**settings))
    for rows, inputs, options in ((ENCODERS, (words, mask), {}), (DECODERS, (words,), {"use_cache": False}),
                                  (SEEING, (image,), {}), (HEARING, (torch.randn(1, 16000),), {})):
        for name, row in rows.items():
            yield name, lambda row=row, options=options: First(model(row), return_dict=False, **options), inputs
    for name, heads in STEPS.items():
        before = [torch.randn(1, heads, 63, 64) for _ in range(4)]
        yield f"{name}_step", lambda name=name: Step(model(DECODERS[name])), (words[:, :1], torch.tensor([[63]]), *before)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, make, inputs in networks():
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        try:
            with torch.no_grad():
                torch.onnx.export(make().eval(), inputs, str(folder / f"{name}.onnx"), opset_version=16,
                                  input_names=NAMES if name in ENCODERS else None)
            print(name)
        except Exception as error:  # pylint: disable=broad-exception-caught  # of versions that differ
            (folder / f"{name}.onnx").unlink(missing_ok=True)
            print(f"{name}: left out: {str(error).splitlines()[0][:120] if str(error) else type(error).__name__}")


if __name__ == "__main__":
    main()
