"processors $([Environment]::ProcessorCount)"
