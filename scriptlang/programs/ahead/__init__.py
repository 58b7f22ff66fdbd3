"""What users have of derivatives made ahead of time: `value_and_grad`, `aot_backward`, reports."""
