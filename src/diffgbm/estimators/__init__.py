"""What a user touches. Estimators arrange; they compute nothing."""
