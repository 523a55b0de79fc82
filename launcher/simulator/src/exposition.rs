//! Histograms, and metrics as Prometheus text, format 0.0.4, as vLLM's client library writes it. Pure.

use std::fmt::Write;
use std::time::Duration;

/// The size of the KV cache.
#[derive(Clone, Debug)]
pub(crate) struct CacheOptions {
    /// Tokens per block.
    pub(crate) block_size: u32,
    /// Number of blocks, including one reserved block.
    pub(crate) num_gpu_blocks: u32,
    /// Whether prefixes are cached.
    pub(crate) prefix_caching: bool,
}

/// Escapes the special characters in the value of a label.
pub(crate) fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Counts of values per bucket.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    bounds: Vec<f64>,
    /// One count per bucket. The last bucket, for all values above the last bound, has no bound itself.
    counts: Vec<u64>,
    sum: f64,
}

impl Histogram {
    /// A histogram with all counts at zero.
    pub(crate) fn new(bounds: &[f64]) -> Self {
        Histogram { bounds: bounds.to_vec(), counts: vec![0; bounds.len() + 1], sum: 0.0 }
    }

    /// Counts a value.
    pub(crate) fn observe(&mut self, value: f64) {
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        self.counts[bucket] += 1;
        self.sum += value;
    }

    /// Counts a time, in seconds.
    pub(crate) fn observe_time(&mut self, time: Duration) {
        self.observe(time.as_secs_f64());
    }
}

/// The text of the metrics while it is being written.
pub(crate) struct Exposition<'a> {
    /// The lines so far.
    pub(crate) out: String,
    /// The labels that all series share.
    pub(crate) labels: &'a str,
    /// When counting began, in seconds since 1970.
    pub(crate) created: f64,
}

impl Exposition<'_> {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP vllm:{name} {help}"));
        self.line(format_args!("# TYPE vllm:{name} {kind}"));
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.out, "{line}");
    }

    /// The start time of the process, as the client library writes it: without a prefix and without labels.
    pub(crate) fn process_start(&mut self) {
        let created = self.created;
        self.line(format_args!(
            "# HELP process_start_time_seconds Start time of the process since unix epoch in seconds."
        ));
        self.line(format_args!("# TYPE process_start_time_seconds gauge"));
        self.line(format_args!("process_start_time_seconds {created:?}"));
    }

    /// Writes a gauge with one series.
    pub(crate) fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.gauges(name, help, &[("", value)]);
    }

    /// Writes a gauge with one series per label.
    pub(crate) fn gauges(&mut self, name: &str, help: &str, series: &[(&str, f64)]) {
        self.head(name, "gauge", help);
        for (label, value) in series {
            self.series(name, label, format_args!("{value:?}"));
        }
    }

    /// Writes a counter with one series per label.
    pub(crate) fn counter(&mut self, name: &str, help: &str, series: &[(&str, u64)]) {
        self.head(&format!("{name}_total"), "counter", help);
        for (label, value) in series {
            self.series(&format!("{name}_total"), label, format_args!("{value}.0"));
        }
        self.head(&format!("{name}_created"), "gauge", help);
        let created = self.created;
        for (label, _) in series {
            self.series(&format!("{name}_created"), label, format_args!("{created:?}"));
        }
    }

    /// Writes one value. Labels are sorted by name, as in vLLM.
    fn series(&mut self, name: &str, label: &str, value: std::fmt::Arguments<'_>) {
        let labels = self.labels;
        if label.is_empty() {
            self.line(format_args!("vllm:{name}{{engine=\"0\",{labels}}} {value}"));
        } else if label < labels {
            self.line(format_args!("vllm:{name}{{engine=\"0\",{label},{labels}}} {value}"));
        } else {
            self.line(format_args!("vllm:{name}{{engine=\"0\",{labels},{label}}} {value}"));
        }
    }

    /// Writes a histogram with all its buckets.
    pub(crate) fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        let (labels, created) = (self.labels, self.created);
        self.head(name, "histogram", help);
        let mut count = 0;
        for (bound, in_bucket) in histogram.bounds.iter().zip(&histogram.counts) {
            count += in_bucket;
            self.line(format_args!("vllm:{name}_bucket{{engine=\"0\",le=\"{bound:?}\",{labels}}} {count}.0"));
        }
        count += histogram.counts.last().copied().unwrap_or(0);
        self.line(format_args!("vllm:{name}_bucket{{engine=\"0\",le=\"+Inf\",{labels}}} {count}.0"));
        self.line(format_args!("vllm:{name}_count{{engine=\"0\",{labels}}} {count}.0"));
        let sum = histogram.sum;
        self.line(format_args!("vllm:{name}_sum{{engine=\"0\",{labels}}} {sum:?}"));
        self.head(&format!("{name}_created"), "gauge", help);
        self.line(format_args!("vllm:{name}_created{{engine=\"0\",{labels}}} {created:?}"));
    }

    /// Writes the metric about LoRA adapters, without adapters. llm-d's endpoint picker needs the series anyway.
    pub(crate) fn lora_info(&mut self) {
        let created = self.created;
        self.head("lora_requests_info", "gauge", "Running stats on lora requests.");
        let labels = "max_lora=\"0\",running_lora_adapters=\"\",waiting_lora_adapters=\"\"";
        self.line(format_args!("vllm:lora_requests_info{{{labels}}} {created:?}"));
    }

    /// Writes the settings of the KV cache, as labels.
    pub(crate) fn cache_info(&mut self, options: &CacheOptions) {
        let CacheOptions { block_size, num_gpu_blocks, prefix_caching } = options;
        let caching = if *prefix_caching { "True" } else { "False" };
        let tokens = u64::from(*block_size) * u64::from(*num_gpu_blocks);
        self.head("cache_config_info", "gauge", "Information of the LLMEngine CacheConfig");
        self.line(format_args!(
            "vllm:cache_config_info{{block_size=\"{block_size}\",cache_dtype=\"auto\",enable_prefix_caching=\"{caching}\",\
             engine=\"0\",gpu_memory_utilization=\"0.92\",kv_cache_size_tokens=\"{tokens}\",num_cpu_blocks=\"None\",\
             num_gpu_blocks=\"{num_gpu_blocks}\",sliding_window=\"None\"}} 1.0"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_counts_what_is_at_most_its_bound() {
        let mut histogram = Histogram::new(&[1.0, 2.0]);
        [0.5, 1.0, 1.5, 9.0].into_iter().for_each(|value| histogram.observe(value));
        assert_eq!((histogram.counts.as_slice(), histogram.sum), ([2, 1, 1].as_slice(), 12.0));
    }
}
