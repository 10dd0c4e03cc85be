[1, 2].frist
