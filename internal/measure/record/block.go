package record

import "fmt"

// BlockName is a block's name in texts for people, which count from 1: "block 3". Records, JSON and CSV count from 0.
func BlockName(block int) string { return fmt.Sprintf("block %d", block+1) }
