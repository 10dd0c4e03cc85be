program utf8
  character(len=80) :: line
  print '(a)', "grün 日本 😀"
  read '(a)', line
  print '(a)', trim(line)
end program utf8
