ARGV.clear
p ARGF.read, ARGF.filename
