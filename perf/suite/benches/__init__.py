"""The benchmarks, one module each: NAME, about(), run(context). docs/performance.md says what each measures."""
