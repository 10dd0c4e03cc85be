def main():
    print("never seen")
    if True print("no colon")


main()
