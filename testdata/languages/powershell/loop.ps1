while ($true) { $n++ }
