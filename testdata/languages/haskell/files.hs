import Control.Exception (evaluate)
import Control.Monad (unless)
import System.Directory
import System.IO

must :: String -> Bool -> IO ()
must what ok = unless ok (error what)

main :: IO ()
main = do
  writeFile "a.txt" "hello"
  appendFile "a.txt" ", world"
  renameFile "a.txt" "b.txt"
  createDirectoryIfMissing True "d/e"
  copyFile "b.txt" "d/b.txt"
  createFileLink "b.txt" "d/soft"
  listDirectory "d" >>= \names -> must "list" (length names == 3)
  setPermissions "d/b.txt" (setOwnerWritable True emptyPermissions {readable = True})
  _ <- getModificationTime "d/b.txt"
  withFile "b.txt" ReadWriteMode $ \f -> do
    hSetFileSize f 5
    hSeek f AbsoluteSeek 1
    hGetChar f >>= must "read" . (== 'e')
  withCurrentDirectory "d" $ do
    text <- readFile "soft"
    _ <- evaluate (length text)
    must "link" (text == "hello, world")
    getCurrentDirectory >>= must "chdir" . (== "/box/d")
  removeFile "b.txt"
  removeDirectoryRecursive "d"
  doesPathExist "d" >>= must "remove" . not
  writeFile "out.txt" "hi"
  readFile "out.txt" >>= must "write" . (== "hi")
  putStrLn "files ok"
