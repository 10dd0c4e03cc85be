puts DATA.read, DATA.lineno, DATA.path
DATA.rewind
puts DATA.gets
__END__
one
two
