puts __ENCODING__
