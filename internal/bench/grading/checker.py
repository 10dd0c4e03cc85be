def check(input, output, answer):
    return output.split() == answer.split()
