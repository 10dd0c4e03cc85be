import GHC.Conc (getNumProcessors)

main :: IO ()
main = getNumProcessors >>= \n -> putStrLn ("processors " ++ show n)
