while (<DATA>) { print "$.: $_" }
seek DATA, 0, 0; print scalar <DATA>;
__END__
one
two
