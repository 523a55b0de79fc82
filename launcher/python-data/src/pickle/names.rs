//! The names that a pickle can use: only those that pandas, numpy and pyarrow write for tables. Module and name must match exactly, because a prefix
//! could match other functions.

/// The meaning of a name. Classes that are read in the same way share a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    // Python
    Slice,
    Bytes,
    ByteArray,
    Encode,
    Partial,
    OrderedDict,
    // numpy
    Dtype,
    NdArray,
    Reconstruct,
    Scalar,
    FromBuffer,
    // pandas
    DataFrame,
    Series,
    BlockManager,
    UnpickleBlock,
    NewBlock,
    NewIndex,
    Index,
    RangeIndex,
    MultiIndex,
    Missing,
    UnpickleBacked,
    /// A pandas array of texts or times, which is built around a numpy array.
    Backed,
    Categorical,
    /// A pandas array with a mask for missing values.
    Masked,
    ArrowArray,
    /// A pandas extension type. It is ignored, because the content of the array already shows the type.
    ExtensionDtype,
    CategoricalDtype,
    // pyarrow
    RestoreArray,
    ChunkedArray,
    TypeForAlias,
    PyBuffer,
}

/// Returns the meaning of a name. `None` if a pickle may not use it.
pub(crate) fn find(module: &str, name: &str) -> Option<Name> {
    let module = match module {
        "__builtin__" => "builtins",
        "numpy._core.multiarray" => "numpy.core.multiarray",
        "numpy._core.numeric" => "numpy.core.numeric",
        it => it,
    };
    Some(match (module, name) {
        ("builtins", "slice") => Name::Slice,
        ("builtins", "bytes") => Name::Bytes,
        ("builtins", "bytearray") => Name::ByteArray,
        ("_codecs", "encode") => Name::Encode,
        ("functools", "partial") => Name::Partial,
        ("collections", "OrderedDict") => Name::OrderedDict,
        ("numpy", "dtype") => Name::Dtype,
        ("numpy", "ndarray") => Name::NdArray,
        ("numpy.core.multiarray", "_reconstruct") => Name::Reconstruct,
        ("numpy.core.multiarray", "scalar") => Name::Scalar,
        ("numpy.core.numeric", "_frombuffer") => Name::FromBuffer,
        ("pandas.core.frame" | "pandas", "DataFrame") => Name::DataFrame,
        ("pandas.core.series" | "pandas", "Series") => Name::Series,
        ("pandas.core.internals.managers", "BlockManager" | "SingleBlockManager") => Name::BlockManager,
        ("pandas._libs.internals", "_unpickle_block") => Name::UnpickleBlock,
        ("pandas.core.internals.blocks", "new_block") => Name::NewBlock,
        ("pandas.core.indexes.base", "_new_Index") => Name::NewIndex,
        ("pandas.core.indexes.base" | "pandas", "Index")
        | ("pandas.core.indexes.numeric" | "pandas", "Int64Index" | "UInt64Index" | "Float64Index")
        | ("pandas.core.indexes.category" | "pandas", "CategoricalIndex") => Name::Index,
        ("pandas.core.indexes.range" | "pandas", "RangeIndex") => Name::RangeIndex,
        ("pandas.core.indexes.multi" | "pandas", "MultiIndex") => Name::MultiIndex,
        ("pandas._libs.missing" | "pandas", "NA") => Name::Missing,
        ("pandas._libs.arrays", "__pyx_unpickle_NDArrayBacked") => Name::UnpickleBacked,
        ("pandas.core.arrays.categorical" | "pandas.arrays" | "pandas", "Categorical") => Name::Categorical,
        ("pandas.core.arrays.datetimes" | "pandas.arrays", "DatetimeArray")
        | ("pandas.core.arrays.string_" | "pandas.arrays", "StringArray") => Name::Backed,
        ("pandas.core.arrays.integer" | "pandas.arrays", "IntegerArray")
        | ("pandas.core.arrays.boolean" | "pandas.arrays", "BooleanArray")
        | ("pandas.core.arrays.floating" | "pandas.arrays", "FloatingArray") => Name::Masked,
        ("pandas.core.arrays.string_arrow" | "pandas.arrays", "ArrowStringArray")
        | ("pandas.core.arrays.arrow.array" | "pandas.arrays", "ArrowExtensionArray") => Name::ArrowArray,
        (
            "pandas.core.arrays.integer" | "pandas",
            "Int8Dtype" | "Int16Dtype" | "Int32Dtype" | "Int64Dtype" | "UInt8Dtype" | "UInt16Dtype" | "UInt32Dtype"
            | "UInt64Dtype",
        )
        | ("pandas.core.arrays.floating" | "pandas", "Float32Dtype" | "Float64Dtype")
        | ("pandas.core.arrays.boolean" | "pandas", "BooleanDtype")
        | ("pandas.core.arrays.string_" | "pandas", "StringDtype")
        | ("pandas.core.dtypes.dtypes" | "pandas.core.arrays.arrow.dtype" | "pandas", "ArrowDtype") => {
            Name::ExtensionDtype
        }
        ("pandas.core.dtypes.dtypes" | "pandas", "CategoricalDtype") => Name::CategoricalDtype,
        ("pyarrow.lib", "_restore_array") => Name::RestoreArray,
        ("pyarrow.lib", "chunked_array") => Name::ChunkedArray,
        ("pyarrow.lib", "type_for_alias") => Name::TypeForAlias,
        ("pyarrow.lib", "py_buffer") => Name::PyBuffer,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_whole_pair() {
        assert_eq!(find("__builtin__", "slice"), Some(Name::Slice));
        assert_eq!(find("numpy._core.numeric", "_frombuffer"), Some(Name::FromBuffer));
        for (module, name) in [
            ("os", "system"),
            ("builtins", "eval"),
            ("builtins", "slice.indices"),
            ("builtins.", "slice"),
            ("pandas.core", "frame.DataFrame"),
            ("pandas", "read_pickle"),
            ("numpy.core", "multiarray.scalar"),
            ("", ""),
        ] {
            assert_eq!(find(module, name), None, "{module} {name}");
        }
    }
}
