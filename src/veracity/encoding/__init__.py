"""Claims become blocks of arrays: names, numbering, partitions, known truths, survey."""
