package keyboard

// Windows has no background jobs.

func failBackgroundReads() {}

func isBackgroundRead(error) bool { return false }
