package audit

func limitFiles() {}
