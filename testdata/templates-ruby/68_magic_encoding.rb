# encoding: iso-8859-1
p __ENCODING__, "a".encoding
