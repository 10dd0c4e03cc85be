p "foo bar" =~ /b(?<x>a)r/, $~[:x], "aXbX".gsub(/X/) { $&.downcase }, "日本" =~ /\p{Han}/, "a,b;c".split(/[,;]/), "x" * 30 =~ /^(x+x+)+y/
p Regexp.timeout
