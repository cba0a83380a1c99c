"""Execute the notebooks: ``python -m iac_lib.notebooks --profile quick``."""
