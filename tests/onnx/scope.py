# SPDX-License-Identifier: MIT
"""What of ONNX's node tests a library of kernels is asked for, and what of that is missing, as data."""

#: Element types of the language, bool, whose values are bytes of 0 and 1, and int64, whose numbers fit 32 bits.
TYPES = {"FLOAT", "FLOAT16", "BFLOAT16", "INT8", "UINT8", "INT32", "INT64", "BOOL"}

#: Operators that are no kernels on tensors of known shapes. The first reason that fits a case is counted.
OUT_OF_SCOPE = {
    "control flow": {"If", "Loop"},
    "sequences and optional values": {
        "ConcatFromSequence", "OptionalGetElement", "OptionalHasElement", "SequenceAt", "SequenceConstruct",
        "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength", "SequenceMap", "SplitToSequence"},
    "strings": {"RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "LabelEncoder"},
    "images in files": {"ImageDecoder"},
    "random numbers": {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
                       "RandomUniformLike"},
    "training": {"Adagrad", "Adam", "Gradient", "Momentum", "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"},
    "shapes that depend on elements": {"Compress", "NonMaxSuppression", "NonZero", "TfIdfVectorizer", "Unique"},
    "trees and other models": {"ArrayFeatureExtractor", "Binarizer", "TreeEnsemble"},
}

#: Operators that read no elements: everything is known when a model is compiled.
NOTHING_READ = {"BlackmanWindow", "Constant", "ConstantOfShape", "EyeLike", "HammingWindow", "HannWindow",
                "MelWeightMatrix", "Range", "Shape", "Size"}

#: Cases of operators that are in scope otherwise.
CASES_OUT_OF_SCOPE = [
    (r"test_(training_dropout|batchnorm_.*_training_mode|sce_|nllloss_)", "training"),
    (r"test_bernoulli", "random numbers"),
    (r"test_(blackman|hamming|hann)window", "no tensors are read"),
    (r"test_(sequence|optional|identity_(sequence|opt)|if_(opt|seq)|loop16)", "sequences and optional values"),
    (r"test_range_.*_expanded", "control flow"),
    (r"test_center_crop_pad_.*_expanded", "shapes that depend on elements"),
]

#: Why a case that is in scope cannot be said: what is searched for in the error, and the reason.
MISSING = [
    (r"elementwise operation '(less|less_equal|greater|greater_equal|equal|not_equal|select)'",
     "comparisons, selection"),
    (r"operator Bit", "operations on bits"),
    (r"operator (Asin|Acos|Atan)\b", "trigonometric functions"),
    (r"operator Pow", "powers with other exponents"),
    (r"operator Scan|operator (RNN|GRU|LSTM)", "recurrences"),
    (r"operator (Resize|Upsample)", "resampling"),
    (r"operator (GridSample|DeformConv|RoiAlign|MaxUnpool|Scatter|TensorScatter|Col2Im)",
     "elements between places, or sums at places, that depend on elements"),
    (r"operator (TopK|Arg|MaxPool with indices)", "places of the greatest elements of windows"),
    (r"operator Det", "determinants"),
    (r"operator (DFT|STFT)", "Fourier transforms"),
    (r"operator Pad|negative step|wider than what it covers", "reversed, reflected and repeated elements"),
    (r"operator Mod", "remainders of floats"),
    (r"conversion of i32", "conversions that wrap"),
    (r"not supported|does not|at most|no implementation", "limits of the language"),
]

#: Cases whose expected results are further from the exact ones than their tolerance: NumPy's are rounded to bf16 after
#: each operation, or have an error where zero is exact. Relative and absolute tolerances for these: two units of the
#: last place of bf16, and of the last place of f32 at 1.
ROUGH = {**{f"test_attention_{name}": (2.0 ** -6, 1e-7) for name in (
    "3d_causal_bf16", "3d_causal_bf16_expanded", "4d_causal_bf16", "4d_causal_bf16_expanded",
    "4d_attn_mask_causal_bf16", "4d_attn_mask_causal_bf16_expanded", "4d_padded_kv_bf16",
    "4d_padded_kv_bf16_expanded", "4d_causal_padded_kv_bf16", "4d_causal_padded_kv_bf16_expanded")},
         "test_dft_inverse": (1e-3, 2.0 ** -22), "test_dft_inverse_opset19": (1e-3, 2.0 ** -22)}
